import { connect, createServer, type Socket } from "node:net";

/** Where the relay cuts a connection: before it passes COMMIT on to PostgreSQL, or when PostgreSQL has committed and says so. */
export type CommitCut = "before" | "after";

export interface PostgresRelay extends AsyncDisposable {
  /** The database through the relay. */
  readonly url: string;
  /** Cuts the connection of the next COMMIT that follows an UPDATE. */
  cutCommit(where: CommitCut): void;
  /** Cuts all connections, and every new one at once, until `restore`. */
  cutAll(): void;
  restore(): void;
  /** How many COMMITs were cut. */
  readonly cuts: number;
}

/** A relay between a node and PostgreSQL, without TLS, which can cut connections at a COMMIT. */
export async function postgresRelay(databaseUrl: string): Promise<PostgresRelay> {
  const upstream = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let armed: CommitCut | undefined;
  let [isCut, cuts] = [false, 0];
  const server = createServer((client) => {
    const backend = connect(Number(upstream.port), upstream.hostname);
    const end = () => {
      client.destroy();
      backend.destroy();
    };
    const cut = () => {
      armed = undefined;
      cuts += 1;
      end();
    };
    let isCommitNext = false;
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    if (isCut) return end();
    client.on("data", (data) => {
      if (isCommitNext && armed === "before") return cut();
      backend.write(data);
    });
    backend.on("data", (data) => {
      const text = data.toString("latin1");
      // The tags with which PostgreSQL says that a statement is complete.
      if (armed === "before" && text.includes("UPDATE 1\0")) isCommitNext = true;
      if (armed === "after" && text.includes("COMMIT\0")) return cut();
      client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: url.href,
    cutCommit(where) {
      armed = where;
    },
    cutAll() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      isCut = false;
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

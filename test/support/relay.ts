import { connect, createServer, type Socket } from "node:net";
import type { ConnectionFilter } from "./connection-filter.ts";
import { FaultyRequests, type RequestFault } from "./faulty-requests.ts";

export type { RequestFault } from "./faulty-requests.ts";

export interface RelayOptions {
  /** Is asked about every HTTP request, by its first line. */
  readonly onRequest?: (line: string) => RequestFault | undefined;
  /** A filter for each connection, given the client's end of it. */
  readonly filter?: (near: Socket) => ConnectionFilter;
}

/** Relay passes connections on to a server, on this machine, until it is told to fail in some way. `mend` ends every failure. */
export interface Relay extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends all connections, and every new one once it is made. */
  cut(): void;
  /** Ends all connections; nobody listens any more. */
  refuse(): Promise<void>;
  /** Connections stay open and can be made, and nothing passes through any of them. */
  silence(): void;
  /** Everything arrives this much later. */
  delay(ms: number): void;
  mend(): Promise<void>;
}

const open: ConnectionFilter = { pass: (_, bytes) => bytes };

export async function openRelay(port: number, { onRequest, filter }: RelayOptions = {}): Promise<Relay> {
  const sockets = new Set<Socket>();
  let fault: "cut" | "refuse" | "silence" | undefined;
  let delayMs = 0;
  const filterOf: (near: Socket) => ConnectionFilter =
    filter ?? (onRequest ? (near) => new FaultyRequests(near, onRequest) : () => open);
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    if (fault === "cut") return void near.destroy();
    const far = connect(port, "127.0.0.1");
    const passing = filterOf(near);
    for (const [socket, other, of] of [
      [near, far, "request"],
      [far, near, "answer"],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        if (socket === far || passing.arrival === undefined) other.destroy();
      });
      socket.on("data", (bytes: Buffer) => {
        // What comes while the relay is silent is lost, as on a network that drops every packet.
        if (fault === "silence") return;
        const passed = passing.pass(of, bytes);
        if (passed === undefined) return void near.destroy();
        if (passing.arrival !== undefined) {
          near.destroy();
          if (of === "request") void passing.arrival.then(() => far.end(passed));
          return;
        }
        const wait = Math.max(delayMs, passing.delayMs ?? 0);
        if (passed.length > 0) send(passed, { from: socket, to: other, delayMs: wait });
        // What passed before the cut arrives.
        if (passing.isCut) near.destroySoon();
      });
    }
  });
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) =>
      server.once("error", reject).listen(at, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      }),
    );
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  await listen(0);
  const address = server.address();
  const own = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${own}`,
    port: own,
    cut() {
      fault = "cut";
      endAll();
    },
    async refuse() {
      fault = "refuse";
      const closed = close();
      endAll();
      await closed;
    },
    silence() {
      fault = "silence";
    },
    delay(ms) {
      delayMs = ms;
    },
    async mend() {
      const before = fault;
      fault = undefined;
      delayMs = 0;
      if (before === "refuse") await listen(own);
      // Bytes of connections from before the silence are missing.
      if (before === "silence") endAll();
    },
    async [Symbol.asyncDispose]() {
      const closed = fault === "refuse" ? undefined : close();
      endAll();
      await closed;
    },
  };
}

interface Way {
  readonly from: Socket;
  readonly to: Socket;
  readonly delayMs: number;
}

function send(bytes: Buffer, { from, to, delayMs }: Way): void {
  const resume = () => from.resume();
  if (delayMs > 0) {
    from.pause();
    const waitMs = delayMs * Math.ceil(bytes.length / 65_536);
    setTimeout(() => (to.write(bytes) ? resume() : to.once("drain", resume)), waitMs);
  } else if (!to.write(bytes)) {
    from.pause();
    to.once("drain", resume);
  }
}

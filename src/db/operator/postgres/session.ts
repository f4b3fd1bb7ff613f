import { Client, Connection } from "pg";
import { Fault } from "../../../base/fault.ts";
import { isUnavailable, unavailable } from "../../unavailable.ts";

/** PgTarget is where and as which user to connect. */
export interface PgTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly sslmode: string;
}

export function parsePgUrl(url: string): PgTarget {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const user = decodeURIComponent(username) || "postgres";
  return {
    host: searchParams.get("host") ?? (hostname.replace(/^\[|\]$/g, "") || "127.0.0.1"),
    port: Number(port) || 5432,
    user,
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)) || user,
    sslmode: searchParams.get("sslmode") ?? "prefer",
  };
}

/** Position returns what to tell about a character of a statement, counted from 1. */
export type Position = (at: number) => Record<string, unknown>;

/** Column is a column of a statement's result, with the OID of its type. */
interface Column {
  readonly name: string;
  readonly type: number;
}

/** DescribeResult is what PostgreSQL says about a statement: the OIDs of its parameters, and its columns. */
interface DescribeResult {
  readonly paramTypes: readonly number[];
  readonly columns: readonly Column[];
}

/** Cells are the values of a row, as PostgreSQL writes them in text. */
type Cells = ReadonlyArray<string | null>;

interface Execution {
  /** The name of a statement that was described. */
  readonly name: string;
  /** Undefined continues the statement after the rows that it has returned so far, in the same transaction. */
  readonly values: Cells | undefined;
  /** The number of rows to read; 0 for all. */
  readonly maxRows: number;
  readonly position: Position;
  row(cells: Cells): void;
  /** Called before the statement is committed. If it throws, it is not. */
  fits?(): void;
}

/** Query is what the library calls for the messages of the query that runs. */
interface Query {
  submit(): void;
  handleRowDescription?(message: {
    readonly fields: ReadonlyArray<{ readonly name: string; readonly dataTypeID: number }>;
  }): void;
  handleDataRow?(message: { readonly fields: Cells }): void;
  handleCommandComplete?(message: { readonly text: string }): void;
  handlePortalSuspended?(): void;
  handleEmptyQuery?(): void;
  handleCopyInResponse?(): void;
  handleCopyData?(): void;
  handleReadyForQuery(): void;
}

/**
 * PgSession is a connection for an operator's statements, or for LISTEN, by the library `pg`. A query of the library has its result
 * complete in memory, so the messages of a statement are sent and taken here: rows are taken one by one, the statement is committed
 * only once all of them fit, and a message that is too large is refused before it has arrived.
 */
export class PgSession {
  readonly #client: Client;
  readonly #target: PgTarget;
  #ended: unknown;
  /** Called when the connection ends. */
  #onEnd: ((error: unknown) => void) | undefined;
  /** The longest message in bytes. */
  maxMessage = 1024 * 1024;

  private constructor(client: Client, target: PgTarget) {
    this.#client = client;
    this.#target = target;
    client.on("error", (error) => this.#end(error));
    client.on("end", () => this.#end(new Error("PostgreSQL closed the connection")));
    const { stream } = client.connection;
    const sizes = new MessageSizes();
    // Before the library reads the same piece.
    stream.prependListener("data", (piece: Buffer) => {
      if (sizes.largestIn(piece) <= this.maxMessage) return;
      const limit = this.maxMessage;
      const why = `a single row exceeds ${limit} bytes (max_response_body_size)`;
      this.#end(new Fault("ResponseTooBig", why, { limit }));
      stream.destroy();
    });
  }

  static async open(
    target: PgTarget,
    settings: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<PgSession> {
    try {
      return new PgSession(await connect(target, settings, timeoutMs), target);
    } catch (error) {
      throw isUnavailable(error) ? error : unavailable(isPgError(error) ? toFault(error) : error);
    }
  }

  /** True once the connection is closed, by either side. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** describe lets PostgreSQL parse a statement under a name. */
  async describe(name: string, sql: string, position: Position): Promise<DescribeResult> {
    let paramTypes: readonly number[] = [];
    let columns: readonly Column[] = [];
    const { connection } = this.#client;
    connection.once("parameterDescription", (message: { readonly dataTypeIDs: readonly number[] }) => {
      paramTypes = message.dataTypeIDs;
    });
    await this.#run(position, (done) => ({
      submit() {
        connection.parse({ name, text: withoutNul(sql) });
        connection.describe({ type: "S", name });
        connection.sync();
      },
      handleRowDescription({ fields }) {
        columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
      },
      handleReadyForQuery: done,
    }));
    return { paramTypes, columns };
  }

  /**
   * execute runs a statement that was described. Returns its command tag, whether a transaction is open afterwards, and whether
   * there may be more rows.
   */
  async execute({ name, values, maxRows, position, row, fits }: Execution) {
    const { connection } = this.#client;
    let tag = "";
    let isSuspended = false;
    await this.#run(position, (done) => {
      const end = () => {
        fits?.();
        connection.sync();
      };
      return {
        submit() {
          if (values !== undefined) connection.bind({ statement: name, values });
          connection.execute({ rows: maxRows });
          // Flush, not Sync, which commits.
          connection.flush();
        },
        handleDataRow: ({ fields }) => row(fields),
        handleCommandComplete({ text }) {
          tag = text;
          end();
        },
        handlePortalSuspended() {
          isSuspended = true;
          end();
        },
        handleEmptyQuery: end,
        handleCopyInResponse: () => connection.sendCopyFail("COPY from the client is not possible here"),
        handleCopyData() {
          throw new Fault("InvalidInput", "COPY to the client is not possible here; use a SELECT");
        },
        handleReadyForQuery: done,
      };
    });
    return { tag, isInTransaction: this.#client.getTransactionStatus() !== "I", isSuspended };
  }

  /** query returns the rows of a statement of our own. */
  async query(text: string): Promise<readonly Cells[]> {
    const types = { getTypeParser: () => (value: string) => value };
    return (await this.#client.query({ text, rowMode: "array", types })).rows;
  }

  /** listen calls `heard` with the payload of every notification. The promise that it returns rejects when the connection ends. */
  async listen(channel: string, heard: (payload: string) => void): Promise<{ readonly end: Promise<never> }> {
    const end = new Promise<never>((_, reject) => {
      this.#onEnd = reject;
    });
    // Whoever waits for LISTEN hears of the end, too.
    end.catch(() => {});
    this.#client.on("notification", ({ payload = "" }) => heard(payload));
    await this.query(`LISTEN ${channel}`);
    return { end };
  }

  /** Asks the server, on a second connection, to cancel what this one runs. */
  async cancel(timeoutMs: number): Promise<void> {
    const { processID, secretKey } = this.#client;
    const { host, port } = this.#target;
    const ssl = tlsOf(this.#target);
    const connection = new Connection({ ssl });
    const timer = setTimeout(() => connection.stream.destroy(), timeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        let isConnected = false;
        const cancel = () => connection.cancel(processID, secretKey);
        connection.once("connect", () => {
          isConnected = true;
          if (ssl) connection.requestSsl();
          else cancel();
        });
        connection.once("sslconnect", cancel);
        connection.on("error", (error) => (isConnected ? resolve() : reject(error)));
        connection.once("end", resolve);
        if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
        else connection.connect(port, host);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the session and waits until the server has released every lock and setting of it. */
  async close(): Promise<void> {
    const { connection } = this.#client;
    if (connection.stream.destroyed) return;
    const gone = new Promise<void>((resolve) => connection.stream.once("close", () => resolve()));
    // After a failure in the middle of a result, the rest of it is thrown away.
    connection.stream.removeAllListeners("data").resume();
    connection.end();
    const timer = setTimeout(() => connection.stream.destroy(), 1000);
    await gone;
    clearTimeout(timer);
  }

  destroy(): void {
    this.#client.connection.stream.destroy();
  }

  #end(error: unknown): void {
    this.#ended ??= error;
    this.#onEnd?.(this.#ended);
  }

  /** Runs a query of our own messages. What one of its members throws fails it: thrown to the library, it would end the process. */
  async #run(position: Position, query: (done: () => void) => Query): Promise<void> {
    if (this.#ended !== undefined) throw toKnown(this.#ended, position);
    try {
      await new Promise<void>((resolve, reject) => {
        let hasFailed = false;
        const fail = (error: unknown) => {
          hasFailed = true;
          reject(error);
        };
        this.#onEnd = fail;
        const members = Object.entries(query(resolve)).map(([name, member]) => [
          name,
          (...values: never[]) => {
            // The end of a statement, after a row that did not fit, must not commit it.
            if (hasFailed) return;
            try {
              member(...values);
            } catch (error) {
              fail(error);
            }
          },
        ]);
        this.#client.query({ ...Object.fromEntries(members), handleError: fail });
      });
    } catch (error) {
      // What the server sends after a failure belongs to nobody.
      this.#client.connection.stream.removeAllListeners("data").resume();
      throw toKnown(error, position);
    }
  }
}

async function connect(
  target: PgTarget,
  settings: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<Client> {
  const { host, port, user, database, password, sslmode } = target;
  const ssl = tlsOf(target);
  // Everything is given: what is missing, the library takes from the environment.
  const options = { host, port, user, database, password: () => password, ssl };
  const client = Object.assign(new Client(options), {
    getStartupConf: () => ({ user, database, client_encoding: "UTF8", ...settings }),
  });
  const expired = () => new Error(`no answer within ${timeoutMs} ms (timeout_ms)`);
  // From the beginning: a failure that arrives together with the last answer of the connection is emitted before `connect` returns, and
  // an error that nobody listens to ends the process. The end of the connection follows it.
  client.on("error", () => {});
  const timer = setTimeout(() => client.connection.stream.destroy(expired()), timeoutMs);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    const offersNone =
      error instanceof Error && error.message === "The server does not support SSL connections";
    if (!offersNone) throw error;
    if (sslmode === "prefer" || sslmode === "allow") {
      withoutTls.add(target);
      return connect(target, settings, timeoutMs);
    }
    throw new Error(`PostgreSQL offers no TLS, but database_url has sslmode=${sslmode}`);
  } finally {
    clearTimeout(timer);
  }
}

/** The servers that offered no TLS where that is allowed: asking each time would cost a connection. */
const withoutTls = new WeakSet<PgTarget>();

function tlsOf(target: PgTarget): false | { readonly rejectUnauthorized: boolean } {
  const { host, sslmode } = target;
  if (sslmode === "disable" || host.startsWith("/") || withoutTls.has(target)) return false;
  return { rejectUnauthorized: sslmode.startsWith("verify") };
}

/** MessageSizes finds the sizes of messages in the stream of a server, of which each has a letter and a length first. */
class MessageSizes {
  /** The bytes of the message under way that are still to come. */
  #rest = 0;
  /** What has arrived of the next header. */
  #header: Buffer = Buffer.alloc(0);

  /** Returns the size of the largest message that begins in a piece, as far as its header is complete. */
  largestIn(piece: Buffer): number {
    let largest = 0;
    for (let at = 0; at < piece.length; ) {
      const skipped = Math.min(this.#rest, piece.length - at);
      this.#rest -= skipped;
      at += skipped;
      const header = piece.subarray(at, at + 5 - this.#header.length);
      this.#header = this.#header.length === 0 ? header : Buffer.concat([this.#header, header]);
      at += header.length;
      if (this.#header.length < 5) break;
      const size = this.#header.readInt32BE(1);
      // A length counts its own four bytes.
      if (size < 4) return Number.POSITIVE_INFINITY;
      largest = Math.max(largest, 1 + size);
      this.#rest = size - 4;
      this.#header = Buffer.alloc(0);
    }
    return largest;
  }
}

/** PgError is what PostgreSQL says about a failure. */
interface PgError extends Error {
  readonly code: string;
  readonly severity: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly position?: string;
}

function isPgError(error: unknown): error is PgError {
  return error instanceof Error && "severity" in error && error.severity !== undefined;
}

function toKnown(error: unknown, position: Position): Fault {
  if (error instanceof Fault) return error;
  return isPgError(error) ? toFault(error, position) : unavailable(error);
}

/** `toFault` returns a Fault with the server's own message, the SQLSTATE, a hint, and the position in the text. */
function toFault({ message, code, detail, hint, position }: PgError, at?: Position): Fault {
  return new Fault("DatabaseError", message, {
    sqlstate: code,
    ...(detail !== undefined && { detail }),
    ...(hint !== undefined && { hint }),
    ...(position !== undefined && at?.(Number(position))),
  });
}

function withoutNul(value: string): string {
  // A NUL would end the text early, and the rest would be read as protocol.
  if (value.includes("\0")) throw new Fault("InvalidInput", "a NUL character cannot be sent to PostgreSQL");
  return value;
}

import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import type { Server } from "bun";
import { type Address, formatAddress } from "../../base/address.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { readRegularFileSync } from "../../base/read-regular.ts";
import { isOutOfDescriptors, outOfDescriptors } from "../../buckets/disk-faults.ts";
import type { Logger } from "../../log/hub.ts";
import { toFault } from "../../rpc/errors.ts";
import { plainText, serviceUnavailable } from "../content/plain.ts";
import { type Connection, type Goodbye, socketIdleSeconds } from "../jsonrpc/rpc-socket.ts";
import { type Doors, idleSeconds, route, type SharedDoors } from "../routes.ts";

/** How far a WebSocket client may fall behind its answers before it is cut off, beyond one largest answer. */
const backlogBytes = 16 * 1024 * 1024;

export type Place =
  | { readonly at: "tcp"; readonly address: Address; readonly tls: Tls | undefined }
  | { readonly at: "unix"; readonly path: string };

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export interface SizeLimits {
  readonly maxMessageBytes: number;
  readonly maxResponseBytes: number;
}

/** Where the server accepts. Bun's limits are all set here, on purpose rather than by default. */
export class Listener {
  private constructor(
    private readonly server: Server<Connection>,
    private readonly doors: Doors,
    readonly place: Place,
    /** The port that was found where any was asked for; the runtime forgets it when it stops accepting. */
    readonly port: number | undefined = server.port,
  ) {}

  static async open(place: Place, shared: SharedDoors, limits: SizeLimits, log: Logger): Promise<Listener> {
    if (place.at === "unix") await clearStaleSocket(place.path);
    const doors: Doors = { ...shared, connections: new Set() };
    try {
      const server = Bun.serve<Connection>({ ...bindingOf(place), ...handlers(doors, limits, log) });
      if (place.at === "unix") chmodSync(place.path, 0o600);
      return new Listener(server, doors, place);
    } catch (error) {
      throw new Fault(
        "IoError",
        `cannot listen on ${describePlace(place)}: ${reasonOf(error, place)}`,
        {},
        { cause: error },
      );
    }
  }

  /** For people and programs: what to connect to. */
  get url(): string {
    if (this.place.at === "unix") return `unix:${this.place.path}`;
    const { address, tls } = this.place;
    return `${tls === undefined ? "http" : "https"}://${formatAddress({ host: address.host, port: this.port ?? address.port })}`;
  }

  /** New limits, without dropping a connection. */
  limit(limits: SizeLimits, log: Logger): void {
    this.server.reload(handlers(this.doors, limits, log));
  }

  /** Whether a request, or a call of a WebSocket, is under way. */
  get isBusy(): boolean {
    return this.server.pendingRequests > 0 || [...this.doors.connections].some(({ isBusy }) => isBusy);
  }

  /** No new connections from here on; those that exist go on. Resolves when the last of them is closed. */
  stopAccepting(): Promise<void> {
    const empty = this.server.stop(false);
    if (this.place.at === "unix") rmSync(this.place.path, { force: true });
    return empty;
  }

  /** Closes connections that have had an answer and sent no next request; returns how many. */
  closeIdleConnections(): number {
    return this.server.closeIdleConnections();
  }

  /** Lets what runs finish, within bounds, then drops every connection that is left. */
  async close(graceMs: number, why: Goodbye): Promise<void> {
    void this.stopAccepting();
    await Promise.race([this.#finish(graceMs, why), Bun.sleep(graceMs)]);
    await this.server.stop(true);
  }

  async #finish(graceMs: number, why: Goodbye): Promise<void> {
    await Promise.all([...this.doors.connections].map((connection) => connection.leave(why)));
    const deadline = Date.now() + graceMs;
    while (this.server.pendingRequests > 0 && Date.now() < deadline) await Bun.sleep(10);
  }
}

function bindingOf(place: Place) {
  if (place.at === "unix") return { unix: place.path };
  const { address, tls } = place;
  return {
    hostname: address.host,
    port: address.port,
    idleTimeout: idleSeconds,
    // Bun would let a second program listen on the same port, and each would get some of the connections.
    reusePort: false,
    ...(tls === undefined ? {} : { tls }),
  };
}

function handlers(doors: Doors, limits: SizeLimits, log: Logger) {
  return {
    development: false,
    // Bodies are bounded where they are read, because an upload may be larger than a call.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request: Request, server: Server<Connection>) => route(request, server, doors),
    error: (error: unknown) => {
      if (isOutOfDescriptors(error)) return serviceUnavailable(outOfDescriptors);
      const { kind, detail, message } = toFault(error, log);
      if (kind === "DatabaseError") return serviceUnavailable(detail);
      return plainText(500, `500 ${message}`);
    },
    websocket: {
      data: undefined as unknown as Connection,
      idleTimeout: socketIdleSeconds,
      sendPings: true,
      maxPayloadLength: limits.maxMessageBytes,
      backpressureLimit: limits.maxResponseBytes + backlogBytes,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      open: (socket: Bun.ServerWebSocket<Connection>) => socket.data.opened(socket),
      message: (socket: Bun.ServerWebSocket<Connection>, message: string | Buffer) =>
        socket.data.received(message),
      ping: (socket: Bun.ServerWebSocket<Connection>) => socket.data.pinged(),
      drain: (socket: Bun.ServerWebSocket<Connection>) => socket.data.drained(),
      close: (socket: Bun.ServerWebSocket<Connection>) => socket.data.closed(),
    },
  };
}

/** Reads a certificate and its key, and makes sure that they are what they should be and belong together. */
export function readTls(certPath: string, keyPath: string): Tls {
  const cert = readPem(certPath, "certificate");
  const key = readPem(keyPath, "private key");
  const certificate = parsePem(certPath, "PEM certificate", () => new X509Certificate(cert));
  const privateKey = parsePem(keyPath, "PEM private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Fault(
      "InvalidInput",
      `the private key ${keyPath} does not belong to the certificate ${certPath}`,
      { path: keyPath },
    );
  }
  return { cert, key };
}

function readPem(path: string, what: string): string {
  try {
    return readRegularFileSync(path);
  } catch (error) {
    throw new Fault("IoError", `the ${what} ${path} cannot be read: ${messageOf(error)}`, { path });
  }
}

function parsePem<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Fault("InvalidInput", `${path} is no ${what}`, { path }, { cause: error });
  }
}

function describePlace(place: Place): string {
  return place.at === "unix" ? place.path : formatAddress(place.address);
}

function reasonOf(error: unknown, place: Place): string {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return "another program listens there; stop it or change ws_listener";
    case "EADDRNOTAVAIL":
      return `this machine has no address ${place.at === "tcp" ? place.address.host : place.path}; use 0.0.0.0 for all of its addresses, or one of its own, in ws_listener`;
    case "EACCES":
      return "the operating system does not allow it (ports below 1024 need rights)";
    default:
      return messageOf(error);
  }
}

/** A socket file whose server is gone is in the way; one that answers is somebody's, and so is anything that is no socket. */
async function clearStaleSocket(path: string): Promise<void> {
  const refuse = (why: string) => new Fault("IoError", `cannot listen on ${path}: ${why}`, { path });
  try {
    mkdirSync(dirname(path), { recursive: true });
    if (!lstatSync(path).isSocket())
      throw refuse("a file that is no socket stands there; move it or change unix_socket_path");
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (codeOf(error) === "ENOENT") return;
    throw refuse(messageOf(error));
  }
  const alive = await new Promise<boolean>((resolve) => {
    const probe = connect(path, () => resolve(true)).on("error", () => resolve(false));
    probe.unref();
  });
  if (alive) throw refuse("another program listens there; stop it or change unix_socket_path");
  rmSync(path, { force: true });
}

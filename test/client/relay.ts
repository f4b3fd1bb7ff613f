import { connect, createServer, type Socket } from "node:net";

/** A moment within a request or its answer. */
interface Moment {
  readonly of: "request" | "answer";
  /** Bytes that pass before it. */
  readonly after: number;
}

/** What happens to one HTTP request on its way. */
export type RequestFault =
  | { readonly kind: "cut" | "silence"; readonly at: Moment }
  /** It and its answer wait, for each 64 KiB. */
  | { readonly kind: "delay"; readonly ms: number }
  /** It does not reach the server: this is answered, and the connection closed. */
  | { readonly kind: "answer"; readonly status: string; readonly body?: string; readonly headers?: string };

export interface RelayOptions {
  /** Is asked about every HTTP request, by its first line. */
  readonly onRequest?: (line: string) => RequestFault | undefined;
}

const requestStart = /^(?:GET|HEAD|PUT|POST|DELETE) [^\r\n]* HTTP\/1\.1/;

/** Passes connections on to a server, until it cuts them or falls silent. */
export async function openRelay(port: number, { onRequest }: RelayOptions = {}) {
  const sockets = new Set<Socket>();
  let isOpen = true;
  let isSilent = false;
  const relay = createServer((near) => {
    if (!isOpen) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    const state = new FaultyConnection(near, onRequest);
    for (const [socket, other, of] of [
      [near, far, "request"],
      [far, near, "answer"],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.on("data", (bytes: Buffer) => {
        // What comes while the relay is silent is lost, as on a network that drops every packet.
        if (isSilent) return;
        const passed = state.pass(of, bytes);
        if (passed.length > 0) send(passed, { from: socket, to: other, delayMs: state.delayMs });
        // What passed before the cut arrives.
        if (state.isCut) near.destroySoon();
      });
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const address = relay.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    cut() {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
    },
    /** Connections stay open and can be made, and nothing passes through any of them. */
    silence() {
      isSilent = true;
    },
    /** Ends the silence. Connections from before are cut, because bytes of theirs are missing. */
    speak() {
      isSilent = false;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isOpen = true;
    },
    async [Symbol.asyncDispose]() {
      this.cut();
      relay.close();
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

/** One connection, with the fault of the request that is on it now. */
class FaultyConnection {
  readonly #near: Socket;
  readonly #onRequest: RelayOptions["onRequest"];
  #fault: RequestFault | undefined;
  #passed = { request: 0, answer: 0 };
  #isSilent = false;
  isCut = false;

  constructor(near: Socket, onRequest: RelayOptions["onRequest"]) {
    this.#near = near;
    this.#onRequest = onRequest;
  }

  get delayMs(): number {
    return this.#fault?.kind === "delay" ? this.#fault.ms : 0;
  }

  /** The part of the bytes that gets through. */
  pass(of: Moment["of"], bytes: Buffer): Buffer {
    const line = of === "request" ? requestStart.exec(bytes.toString("latin1", 0, 2048))?.[0] : undefined;
    if (line !== undefined && !this.#isSilent) {
      this.#fault = this.#onRequest?.(line);
      this.#passed = { request: 0, answer: 0 };
    }
    if (this.#isSilent || this.isCut) return Buffer.alloc(0);
    const fault = this.#fault?.kind === "delay" ? undefined : this.#fault;
    if (fault?.kind === "answer") return this.#answer(fault);
    const before = this.#passed[of];
    this.#passed[of] += bytes.length;
    if (fault === undefined || fault.at.of !== of || this.#passed[of] <= fault.at.after) return bytes;
    if (fault.kind === "cut") this.isCut = true;
    else this.#isSilent = true;
    return bytes.subarray(0, fault.at.after - before);
  }

  #answer({ status, body = "", headers = "" }: RequestFault & { readonly kind: "answer" }): Buffer {
    this.#isSilent = true;
    this.#near.end(
      `HTTP/1.1 ${status}\r\n${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    return Buffer.alloc(0);
  }
}

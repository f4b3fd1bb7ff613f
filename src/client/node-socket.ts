import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { closeFrame, FrameError, FrameReader, frame, type Incoming, opcodes } from "./frames.ts";

/** How long the other side may take to say goodbye as well. */
const goodbyeMs = 2000;

type RequestOf = typeof import("node:http").request;

/** A WebSocket for Node 20, which has none: text messages only, on `node:http` or `node:https`. */
export class NodeSocket {
  onopen: ((event: { readonly type: "open" }) => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror: ((event: { readonly message: string }) => void) | null = null;

  readonly #reader = new FrameReader();
  #state: "connecting" | "open" | "closing" | "closed" = "connecting";
  #request: ClientRequest | undefined;
  #stream: Duplex | undefined;

  constructor(url: string) {
    this.#connect(url).catch((error: unknown) => this.#fail(error));
  }

  send(text: string): void {
    if (this.#state === "connecting") throw new Error("the WebSocket is not open yet");
    if (this.#state === "open") this.#stream?.write(frame(opcodes.text, new TextEncoder().encode(text)));
  }

  close(code = 1000, reason = ""): void {
    if (this.#state === "connecting") {
      this.#closed(1006, "closed before it was open");
      this.#request?.destroy();
    }
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#stream?.write(closeFrame(code, reason));
    const timer = setTimeout(() => this.#stream?.destroy(), goodbyeMs);
    this.#stream?.once("close", () => clearTimeout(timer));
  }

  async #connect(url: string): Promise<void> {
    const key = toBase64(crypto.getRandomValues(new Uint8Array(16)));
    const expected = await acceptFor(key);
    const request = await requestFor(url);
    if (this.#state !== "connecting") return;
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
    };
    this.#request = request(url.replace(/^ws/, "http"), { headers, agent: false })
      .on("error", (error) => this.#fail(error))
      .on("response", (response) => {
        this.#fail(new Error(`the server answers ${response.statusCode} instead of a WebSocket`));
        this.#request?.destroy();
      })
      .on("upgrade", (response, stream, head) => this.#upgraded(response, stream, head, expected));
    this.#request.end();
  }

  #upgraded({ headers }: IncomingMessage, stream: Duplex, head: Uint8Array, expected: string): void {
    stream.on("error", (error) => this.#fail(error));
    if (this.#state !== "connecting" || headers["sec-websocket-accept"] !== expected) {
      stream.destroy();
      this.#fail(new Error("the server's handshake is not that of a WebSocket"));
      return;
    }
    this.#stream = stream;
    this.#state = "open";
    stream.on("close", () => this.#closed(1006, ""));
    stream.on("end", () => stream.end());
    this.onopen?.({ type: "open" });
    this.#received(head);
    stream.on("data", (bytes: Uint8Array) => this.#received(bytes));
  }

  #received(bytes: Uint8Array): void {
    try {
      for (const message of this.#reader.push(bytes)) this.#take(message);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#stream?.end(closeFrame(error.code, error.message));
      this.#fail(error);
    }
  }

  #take(message: Incoming): void {
    if (this.#state === "closed") return;
    switch (message.kind) {
      case "text":
        // After a goodbye of this side nobody listens any more.
        if (this.#state === "open") this.onmessage?.({ data: message.text });
        return;
      case "ping":
        this.#stream?.write(frame(opcodes.pong, message.payload));
        return;
      case "close": {
        const { code, reason } = message;
        if (this.#state === "open") this.#stream?.write(closeFrame(code === 1005 ? 1000 : code));
        this.#stream?.end();
        this.#closed(code, reason);
      }
    }
  }

  #fail(error: unknown): void {
    if (this.#state === "closed") return;
    this.onerror?.({ message: error instanceof Error ? error.message : String(error) });
    this.#closed(1006, "");
  }

  #closed(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    // A server that never ends its side would keep the process alive.
    if (this.#stream !== undefined && !this.#stream.destroyed) {
      const stream = this.#stream;
      const timer = setTimeout(() => stream.destroy(), goodbyeMs);
      stream.once("close", () => clearTimeout(timer));
    }
    this.onclose?.({ code, reason });
  }
}

/** The module's name is put together here, so that no bundler for browsers looks for it. */
async function requestFor(url: string): Promise<RequestOf> {
  const name = `node:${url.startsWith("wss:") ? "https" : "http"}`;
  const loaded = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { request: RequestOf };
  return loaded.request;
}

/** RFC 6455 §1.3: proof that the server took the handshake for one. */
async function acceptFor(key: string): Promise<string> {
  const text = new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
  return toBase64(new Uint8Array(await crypto.subtle.digest("SHA-1", text)));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

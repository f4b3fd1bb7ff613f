import type { Socket } from "node:net";
import type { ConnectionFilter, Direction } from "./connection-filter.ts";

/** A moment within a request or its answer. */
interface Moment {
  readonly of: Direction;
  /** Bytes that pass before it. */
  readonly after: number;
}

/** What happens to one HTTP request on its way. */
export type RequestFault =
  | { readonly kind: "cut" | "silence"; readonly at: Moment }
  /** One byte of the content of its answer arrives as another one. */
  | { readonly kind: "damage" }
  /** It and its answer wait, for each 64 KiB. */
  | { readonly kind: "delay"; readonly ms: number }
  /** It does not reach the server: this is answered, and the connection closed. */
  | { readonly kind: "answer"; readonly status: string; readonly body?: string; readonly headers?: string };

const requestStart = /^(?:GET|HEAD|PUT|PATCH|POST|DELETE) [^\r\n]* HTTP\/1\.1/;

/** FaultyRequests is the filter of a connection with HTTP requests, with the fault of the one that is on it now. */
export class FaultyRequests implements ConnectionFilter {
  readonly #near: Socket;
  readonly #onRequest: (line: string) => RequestFault | undefined;
  #fault: RequestFault | undefined;
  #passed = { request: 0, answer: 0 };
  #isSilent = false;
  isCut = false;

  constructor(near: Socket, onRequest: (line: string) => RequestFault | undefined) {
    this.#near = near;
    this.#onRequest = onRequest;
  }

  get delayMs(): number {
    return this.#fault?.kind === "delay" ? this.#fault.ms : 0;
  }

  pass(of: Direction, bytes: Buffer): Buffer {
    const line = of === "request" ? requestStart.exec(bytes.toString("latin1", 0, 2048))?.[0] : undefined;
    if (line !== undefined && !this.#isSilent) {
      this.#fault = this.#onRequest(line);
      this.#passed = { request: 0, answer: 0 };
    }
    if (this.#isSilent || this.isCut) return Buffer.alloc(0);
    const fault = this.#fault?.kind === "delay" ? undefined : this.#fault;
    if (fault?.kind === "damage") return of === "answer" ? this.#damaged(bytes) : bytes;
    if (fault?.kind === "answer") return this.#answer(fault);
    const before = this.#passed[of];
    this.#passed[of] += bytes.length;
    if (fault === undefined || fault.at.of !== of || this.#passed[of] <= fault.at.after) return bytes;
    if (fault.kind === "cut") this.isCut = true;
    else this.#isSilent = true;
    return bytes.subarray(0, fault.at.after - before);
  }

  /** The first byte after the header, which may begin a packet. */
  #damaged(bytes: Buffer): Buffer {
    const header = this.#passed.answer === 0 ? bytes.indexOf("\r\n\r\n") : -4;
    const at = header === -1 ? bytes.length : header + 4;
    if (header !== -1) this.#passed.answer += bytes.length;
    if (at >= bytes.length) return bytes;
    this.#fault = undefined;
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    return changed;
  }

  #answer({ status, body = "", headers = "" }: RequestFault & { readonly kind: "answer" }): Buffer {
    this.#isSilent = true;
    this.#near.end(
      `HTTP/1.1 ${status}\r\n${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    return Buffer.alloc(0);
  }
}

// This folder is the transport of JSON-RPC; rpc/ does the work. This file answers a POST: it reads the body within
// bounds, hands it to the engine and sends the answer, compressed or in pieces if it is long. rpc-socket.ts does the
// same for a WebSocket, where calls run in the order of their arrival and subscriptions send events. Neither takes
// credentials from what a browser adds by itself.

import type { Server } from "bun";
import type { Caller } from "../../auth/caller.ts";
import { networkOf } from "../../base/address.ts";
import { Fault } from "../../base/fault.ts";
import { type MemoryAccount, type MemoryBudget, uncountedBytes } from "../../base/memory-budget.ts";
import { LargeAnswer, type Reply, toWireError } from "../../rpc/bodies.ts";
import type { Engine } from "../../rpc/engine.ts";
import { memoryIsFull, type RequestSource } from "../../rpc/request-state.ts";
import {
  answerEncoding,
  compressLong,
  compressShort,
  type Encoding,
  encodedHeaders,
  minCompressedChars,
} from "../content/compression.ts";
import { pulledResponse, sized, textResponse } from "../content/plain.ts";
import { bearerToken } from "../request/authentication.ts";
import { bodyChunks, declaredLength } from "../request/body.ts";
import type { ClientAddresses } from "../request/client-address.ts";
import type { ConnectionLimiter, Delays, Permit, UnsizedBodies } from "../request/connection-limiter.ts";
import { noteOn, type RequestNotes } from "../request/request-observer.ts";

/** Any origin may call: a page must know the token, because no call reads what browsers add by themselves (cookies, Basic). */
export const cors = { "access-control-allow-origin": "*" };
const jsonHeaders = { "content-type": "application/json", "x-content-type-options": "nosniff", ...cors };
const okInit: ResponseInit = { headers: new Headers(jsonHeaders) };

export interface JsonRpcOptions {
  readonly engine: Pick<Engine<object>, "answer">;
  readonly addresses: ClientAddresses;
  readonly connections: ConnectionLimiter;
  readonly memory: MemoryBudget;
  readonly unsizedBodies: UnsizedBodies;
  readonly delays: Delays;
  readonly maxRequestBytes: () => number;
}

/** answerPost answers one POST on an address of JSON-RPC. */
export async function answerPost(
  request: Request,
  server: Server<unknown>,
  options: JsonRpcOptions,
): Promise<Response> {
  if (!isJson(request.headers.get("content-type"))) {
    return refuse(415, new Fault("InvalidRequest", "the content type must be application/json"));
  }
  const { addresses, connections, memory, delays } = options;
  const permit = connections.tryAcquire();
  if (permit === undefined) return busy();
  const source = new PostSource({ request, server, addresses, permit, memory, delays });
  let reply: Reply;
  try {
    const maxBytes = options.maxRequestBytes();
    const body = await readBody(request, { maxBytes, source, unsizedBodies: options.unsizedBodies });
    if (typeof body !== "string") {
      source.finish();
      return rejectedBody(body, maxBytes);
    }
    const answer = options.engine.answer(body, source);
    reply = answer instanceof Promise ? await answer : answer;
    source.holdBody(0);
    if (reply.delayMs > 0 && !(await source.delay(reply.delayMs))) {
      source.finish();
      return refuse(
        429,
        new Fault("Busy", "too many wrong tokens are being sent; try again shortly"),
        retryAfter,
      );
    }
  } catch (error) {
    source.finish();
    throw error;
  }
  // Bun does not report when a response has been sent; in the next tick it has been handed over.
  if (reply.sent !== undefined) setImmediate(reply.sent);
  return toResponse(reply, source, request);
}

/** Larger answers are sent in pieces, as the client reads them. */
const maxUnpacedChars = 64 * 1024;

function toResponse(
  { body, refusal, hasSecret }: Reply,
  source: PostSource,
  request: Request,
): Response | Promise<Response> {
  const large = typeof body === "string" && body.length > maxUnpacedChars ? new LargeAnswer([body]) : body;
  // Strangers could make the server compress as much as they like.
  const mayCompress = !hasSecret && refusal === undefined && source.caller !== undefined;
  if (large instanceof LargeAnswer) {
    const encoding = mayCompress ? answerEncoding(request, { isLong: true }) : undefined;
    const pieces =
      encoding === undefined ? large.pieces() : compressLong(large.pieces(), encoding, request.signal);
    return pulledResponse(pieces, encoding === undefined ? okInit : encodedInit(encoding), {
      interrupt: () => large[Symbol.asyncDispose](),
      // The permit is kept until the answer is read, so that clients that do not read cannot be many.
      onEnd: () => source.finish(),
    });
  }
  source.finish();
  if (large === undefined) return new Response(null, { status: 204, headers: cors });
  if (mayCompress && large.length >= minCompressedChars) {
    const encoding = answerEncoding(request, { isLong: false });
    if (encoding !== undefined) return compressed(large, encoding);
  }
  if (refusal === undefined) return textResponse(large, okInit);
  if (refusal.kind === "Busy")
    return textResponse(large, { status: 503, headers: { ...jsonHeaders, ...retryAfter } });
  return textResponse(large, { status: refusal.kind === "RequestTooBig" ? 413 : 200, headers: jsonHeaders });
}

async function compressed(text: string, encoding: Encoding): Promise<Response> {
  const bytes = await compressShort(text, encoding);
  return sized(new Response(bytes, encodedInit(encoding)), bytes.byteLength);
}

function encodedInit(encoding: Encoding): ResponseInit {
  return { headers: { ...jsonHeaders, ...encodedHeaders(encoding) } };
}

/** preflight answers a CORS preflight: any origin may POST. */
export function preflight(methods: readonly string[]): Response {
  const allow = methods.join(", ");
  return new Response(null, {
    status: 204,
    headers: {
      ...cors,
      allow,
      "access-control-allow-methods": allow,
      "access-control-allow-headers": "*, content-type, authorization",
      "access-control-max-age": "86400",
    },
  });
}

const retryAfter = { "retry-after": "1" };

export function busy(): Response {
  return refuse(
    429,
    new Fault("Busy", "all connections are in use (jsonrpc_max_connections); try again shortly"),
    retryAfter,
  );
}

/** misdirectedCall answers at a host name that is not the server's own (RFC 9110 §15.5.20). */
export function misdirectedCall(): Response {
  return refuse(
    421,
    new Fault(
      "InvalidRequest",
      "JSON-RPC does not answer at this host name; use the server's own name or its address, because this name belongs to a bucket, or is not the `server_name` of the configuration",
    ),
  );
}

function unavailable(fault: Fault): Response {
  return refuse(503, fault, retryAfter);
}

function tooBig(limit: number): Response {
  return refuse(
    413,
    new Fault("RequestTooBig", `the request exceeds ${limit} bytes (max_request_body_size)`, { limit }),
  );
}

function refuse(status: number, fault: Fault, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", error: toWireError(fault), id: null });
  return textResponse(body, { status, headers: { ...jsonHeaders, ...headers } });
}

function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc";
}

/** BodyRejected says why a body was not read to its end. */
interface BodyRejected {
  readonly rejected: "too big" | "no memory" | "too many";
}

interface BodyBounds {
  readonly maxBytes: number;
  readonly source: PostSource;
  readonly unsizedBodies: UnsizedBodies;
}

function rejectedBody({ rejected }: BodyRejected, maxBytes: number): Response {
  if (rejected === "too big") return tooBig(maxBytes);
  if (rejected === "no memory") return unavailable(memoryIsFull());
  const fault = new Fault(
    "Busy",
    "too many requests without a Content-Length are being sent; send one with it, or try again shortly",
  );
  return refuse(503, fault, { ...retryAfter, connection: "close" });
}

/**
 * Reads the body of a request as text. A large one is counted in the memory budget as it arrives, so that a body that is
 * announced and never sent takes nothing from others.
 */
function readBody(request: Request, bounds: BodyBounds): Promise<string | BodyRejected> | BodyRejected {
  const bytes = declaredLength(request);
  if (bytes === undefined) return readUnsized(request, bounds);
  if (bytes > bounds.maxBytes) return { rejected: "too big" };
  if (bytes <= uncountedBytes) return request.text();
  // Its client may disconnect while the body arrives.
  bounds.source.requireAddress();
  return readChunks(request, bytes, bounds);
}

/** Refuses one too many at once, before Bun has parsed more of it. */
function readUnsized(request: Request, bounds: BodyBounds): Promise<string | BodyRejected> | BodyRejected {
  const permit = bounds.unsizedBodies.tryAcquire(bounds.source.address);
  if (permit === undefined) return { rejected: "too many" };
  return readChunks(request, uncountedBytes, bounds).finally(() => permit.release());
}

async function readChunks(
  request: Request,
  expectedBytes: number,
  { maxBytes, source }: BodyBounds,
): Promise<string | BodyRejected> {
  let buffer = Buffer.allocUnsafe(expectedBytes);
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    const end = size + chunk.byteLength;
    if (end > maxBytes) return { rejected: "too big" };
    if (!source.holdBody(end)) return { rejected: "no memory" };
    if (end > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(end, buffer.length * 2)));
      buffer.copy(larger, 0, 0, size);
      buffer = larger;
    }
    buffer.set(chunk, size);
    size = end;
  }
  return buffer.toString("utf8", 0, size);
}

interface PostSourceOptions {
  readonly request: Request;
  readonly server: Server<unknown>;
  readonly addresses: ClientAddresses;
  readonly permit: Permit;
  readonly memory: MemoryBudget;
  readonly delays: Delays;
}

/** Methods of a batch, and characters of a method, that are kept for the access log. */
const maxNotedMethods = 20;
const maxNotedChars = 100;

/** PostSource is the client of one POST, its connection permit, and its share of the memory budget. */
class PostSource implements RequestSource, RequestNotes {
  readonly session = undefined;
  readonly streams = true;
  readonly isProven = false;
  readonly #request: Request;
  readonly #server: Server<unknown>;
  readonly #addresses: ClientAddresses;
  #address: string | undefined;
  readonly #permit: Permit;
  readonly #memory: MemoryBudget;
  readonly #delays: Delays;
  /** Opened when there is something to count: most calls and answers are too small. */
  #account: MemoryAccount | undefined;
  #isProven = false;
  caller: Caller | undefined;
  rpcMethods: string[] | undefined;
  #bodyBytes = 0;
  #answerBytes = 0;

  constructor({ request, server, addresses, permit, memory, delays }: PostSourceOptions) {
    this.#request = request;
    this.#server = server;
    this.#addresses = addresses;
    this.#permit = permit;
    this.#memory = memory;
    this.#delays = delays;
    noteOn(request, this);
  }

  get bearer(): string | undefined {
    return bearerToken(this.#request);
  }

  /** Read when it is needed, because it takes a system call. */
  get address(): string {
    this.#address ??= this.#addresses.of(this.#request, this.#server);
    if (this.#address === undefined) throw new Fault("Other", "the client has disconnected");
    return this.#address;
  }

  noteAddress(): string {
    this.#address ??= this.#addresses.of(this.#request, this.#server);
    return this.#address ?? "unknown";
  }

  requireAddress(): void {
    if (this.#address === undefined) this.#address = this.address;
  }

  get disconnected(): AbortSignal {
    return this.#request.signal;
  }

  withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    return this.#permit.suspend(wait);
  }

  noteMethod(name: string): void {
    if (this.rpcMethods === undefined) this.rpcMethods = [name.slice(0, maxNotedChars)];
    else if (this.rpcMethods.length < maxNotedMethods) this.rpcMethods.push(name.slice(0, maxNotedChars));
    else if (this.rpcMethods.length === maxNotedMethods) this.rpcMethods.push("…");
  }

  proved(caller: Caller): void {
    this.caller = caller;
    this.#isProven = true;
    this.#account?.prove();
  }

  holdBody(bytes: number): boolean {
    if (bytes === 0 && this.#account === undefined) return true;
    if (!this.#hold(bytes + this.#answerBytes)) return false;
    this.#bodyBytes = bytes;
    return true;
  }

  reserve(bytes: number): boolean {
    if (!this.#hold(this.#bodyBytes + this.#answerBytes + bytes)) return false;
    this.#answerBytes += bytes;
    return true;
  }

  /** Holds an answer back without its permit, so that many guesses do not use up the connections. False: too many wait. */
  delay(ms: number): Promise<boolean> {
    return this.#permit.suspend(() => this.#delays.wait(ms));
  }

  /** To be called when the answer has been handed over, or will not be sent. */
  finish(): void {
    this.#permit.release();
    this.#account?.[Symbol.dispose]();
  }

  #hold(bytes: number): boolean {
    if (this.#account === undefined) {
      this.#account = this.#memory.open(networkOf(this.address));
      if (this.#isProven) this.#account.prove();
    }
    return this.#account.hold(bytes);
  }
}

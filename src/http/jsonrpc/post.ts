import { Fault } from "../../base/fault.ts";
import type { MemoryBudget } from "../../base/memory-budget.ts";
import type { Engine } from "../../rpc/engine.ts";
import { toWireError } from "../../rpc/errors.ts";
import { LargeAnswer } from "../../rpc/large-answer.ts";
import type { Reply } from "../../rpc/reply.ts";
import { memoryIsFull } from "../../rpc/request-state.ts";
import type { Delays, Slots } from "../request/connection-limiter.ts";
import { PostOrigin } from "./post-source.ts";
import { readBody } from "./request-body.ts";

/** The token travels in the body and no call looks at a cookie, so any origin may call. */
export const cors = { "access-control-allow-origin": "*" };
const jsonHeaders = { "content-type": "application/json", "x-content-type-options": "nosniff", ...cors };
const answered: ResponseInit = { headers: new Headers(jsonHeaders) };

export interface JsonRpcDoor {
  readonly engine: Pick<Engine<object>, "answer">;
  readonly slots: Slots;
  readonly memory: MemoryBudget;
  readonly delays: Delays;
  readonly maxRequestBytes: () => number;
}

/** One POST on an address of JSON-RPC. `address` is the client's, taken before it can leave. */
export async function answerPost(request: Request, address: string, door: JsonRpcDoor): Promise<Response> {
  if (!isJson(request.headers.get("content-type"))) {
    return refuse(415, new Fault("InvalidRequest", "the content type must be application/json"));
  }
  if (!door.slots.take()) return busy();
  const origin = new PostOrigin(request, address, door);
  let reply: Reply;
  try {
    const maxBytes = door.maxRequestBytes();
    const body = await readBody(request, { maxBytes, hold: (bytes) => origin.holdBody(bytes) });
    if (typeof body !== "string") {
      origin.finish();
      return body.unread === "too big" ? tooBig(maxBytes) : unavailable(memoryIsFull());
    }
    const answer = door.engine.answer(body, origin);
    reply = answer instanceof Promise ? await answer : answer;
    origin.holdBody(0);
    if (reply.delayMs > 0 && !(await origin.delay(reply.delayMs))) {
      origin.finish();
      return refuse(
        429,
        new Fault("Busy", "too many wrong tokens are being sent; try again shortly"),
        retryAfter,
      );
    }
  } catch (error) {
    origin.finish();
    throw error;
  }
  // Bun tells nobody when a response has left; the next turn of the event loop is after it was handed over.
  if (reply.sent !== undefined) setImmediate(reply.sent);
  return toResponse(reply, origin);
}

/** Larger answers are handed over piece by piece, as they are read. */
const pacedAbove = 64 * 1024;

function toResponse({ body, refusal }: Reply, origin: PostOrigin): Response {
  const large = typeof body === "string" && body.length > pacedAbove ? new LargeAnswer([body]) : body;
  if (large instanceof LargeAnswer) return new Response(paced(large, origin), answered);
  origin.finish();
  if (large === undefined) return new Response(null, { status: 204, headers: cors });
  if (refusal === undefined) return new Response(large, answered);
  if (refusal.kind === "Busy")
    return new Response(large, { status: 503, headers: { ...jsonHeaders, ...retryAfter } });
  return new Response(large, { status: refusal.kind === "RequestTooBig" ? 413 : 200, headers: jsonHeaders });
}

/** A client that does not read its answer keeps its place among the connections, so that there cannot be many of them. */
function paced(answer: LargeAnswer, origin: PostOrigin): ReadableStream<Uint8Array> {
  const pieces = answer.pieces();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next();
          if (value !== undefined) controller.enqueue(value);
          if (!done) return;
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        origin.finish();
      },
      async cancel() {
        origin.finish();
        // One that was never begun closes nothing by itself.
        await answer[Symbol.asyncDispose]();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The answer to a preflight: any origin may POST. */
export function preflight(allow: string): Response {
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

function unavailable(fault: Fault): Response {
  return refuse(503, fault, retryAfter);
}

function tooBig(limit: number): Response {
  return refuse(
    413,
    new Fault("RequestTooBig", `the request is above ${limit} bytes (max_request_body_size)`, { limit }),
  );
}

function refuse(status: number, fault: Fault, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", error: toWireError(fault), id: null });
  return new Response(body, { status, headers: { ...jsonHeaders, ...headers } });
}

function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc";
}

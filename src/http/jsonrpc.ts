import { Fault } from "../base/fault.ts";
import type { Engine, Reply } from "../rpc/engine.ts";
import { toWireError } from "../rpc/errors.ts";
import { Slot, type Slots } from "./slots.ts";

/** The token travels in the body and no call looks at a cookie, so any origin may call. */
export const cors = { "access-control-allow-origin": "*" };
const jsonHeaders = { "content-type": "application/json", "x-content-type-options": "nosniff", ...cors };
const answered: ResponseInit = { headers: new Headers(jsonHeaders) };

export interface JsonRpcDoor {
  readonly engine: Pick<Engine<object>, "answer">;
  readonly slots: Slots;
  readonly maxRequestBytes: () => number;
}

/** One POST on an address of JSON-RPC. */
export async function answerPost(
  request: Request,
  address: () => string,
  door: JsonRpcDoor,
): Promise<Response> {
  if (!isJson(request.headers.get("content-type"))) {
    return refuse(415, new Fault("InvalidRequest", "the content type must be application/json"));
  }
  if (!door.slots.take()) return busy();
  const slot = new Slot(door.slots);
  let reply: Reply;
  try {
    const body = await readBody(request, door.maxRequestBytes());
    if (body === undefined) {
      slot.give();
      return tooBig(door.maxRequestBytes());
    }
    const answer = door.engine.answer(body, {
      address,
      session: undefined,
      aside: (wait) => slot.aside(wait),
    });
    reply = answer instanceof Promise ? await answer : answer;
  } catch (error) {
    slot.give();
    throw error;
  }
  // Kept back outside the slot: a crowd of guesses must not fill the server while it waits.
  if (reply.delayMs > 0) await slot.aside(() => Bun.sleep(reply.delayMs));
  // Bun tells nobody when a response has left; the next turn of the event loop is after it was handed over.
  if (reply.sent !== undefined) setImmediate(reply.sent);
  if (reply.text !== undefined && reply.text.length > pacedAbove)
    return new Response(paced(reply.text, slot), answered);
  slot.give();
  return reply.text === undefined
    ? new Response(null, { status: 204, headers: cors })
    : new Response(reply.text, answered);
}

/** Larger answers are handed over piece by piece, as they are read. */
const pacedAbove = 64 * 1024;
const pieceBytes = 256 * 1024;

/** A client that does not read its answer keeps its place among the connections, so that there cannot be many of them. */
function paced(text: string, slot: Slot): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text);
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.subarray(at, at + pieceBytes));
        at += pieceBytes;
        if (at < bytes.length) return;
        controller.close();
        slot.give();
      },
      cancel: () => slot.give(),
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

export function busy(): Response {
  return refuse(
    429,
    new Fault("Busy", "all connections are in use (jsonrpc_max_connections); try again shortly"),
    { "retry-after": "1" },
  );
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

/** The body as text; undefined when it is above the limit, which is found out without reading past it. */
function readBody(request: Request, limit: number): Promise<string | undefined> | undefined {
  const declared = request.headers.get("content-length");
  if (declared !== null) return Number(declared) > limit ? undefined : request.text();
  return readChunks(request, limit);
}

async function readChunks(request: Request, limit: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

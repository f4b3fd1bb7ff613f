// This folder reads and writes the XML of WebDAV. request-xml.ts parses the body of a request, and describes locks.
// live-properties.ts lists the properties that the server computes, and writes those that a PROPFIND asks for, one
// `response` element for each resource. This file makes the multistatus answer of them, which is sent while it is made.

import { STATUS_CODES } from "node:http";
import { escapeXml } from "../../../base/xml.ts";
import {
  answerEncoding,
  compressLong,
  compressShort,
  encodedHeaders,
  minCompressedChars,
} from "../../content/compression.ts";
import { metered, StreamMeter, sized, textResponse } from "../../content/plain.ts";

const head = '<?xml version="1.0" encoding="utf-8"?>\n';
const xmlHeaders = {
  "content-type": 'application/xml; charset="utf-8"',
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`;
}

export function xmlResponse(
  status: number,
  xml: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return textResponse(head + xml, { status, headers: { ...xmlHeaders, ...headers } });
}

/** errorResponse names the condition of RFC 4918 §16 that failed. */
export function errorResponse(
  status: number,
  condition: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return xmlResponse(status, `<D:error xmlns:D="DAV:">${condition}</D:error>\n`, headers);
}

/** statuses returns a multistatus response with one status for each resource: RFC 4918 §13. */
export function statuses(
  members: ReadonlyArray<{ readonly href: string; readonly status: number }>,
): Response {
  const responses = members.map(
    ({ href, status }) =>
      `<D:response><D:href>${escapeXml(href)}</D:href><D:status>${statusLine(status)}</D:status></D:response>\n`,
  );
  return xmlResponse(207, `<D:multistatus xmlns:D="DAV:">\n${responses.join("")}</D:multistatus>\n`);
}

/** A response up to this size is sent as a whole: a stream costs more than making a short one. */
const maxWholeLength = 64 * 1024;
const begin = '<D:multistatus xmlns:D="DAV:">\n';
const end = "</D:multistatus>\n";

/**
 * multistatus makes a long response while it is sent. It waits for the first parts, so that a failure there still gets its own
 * status.
 */
export async function multistatus(
  request: Request,
  responses: AsyncGenerator<string | Uint8Array>,
): Promise<Response> {
  const first: Array<string | Uint8Array> = [];
  for (let length = 0; length <= maxWholeLength; ) {
    const { value, done } = await responses.next();
    if (done) return whole(request, begin + first.map(toText).join("") + end);
    first.push(value);
    length += value.length;
  }
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head + begin);
    for (const part of first.splice(0)) yield toBytes(part);
    for await (const part of responses) yield toBytes(part);
    yield Buffer.from(end);
  }
  const encoding = answerEncoding(request, { isLong: true });
  const sent = encoding === undefined ? parts() : compressLong(parts(), encoding, request.signal);
  const headers = encoding === undefined ? xmlHeaders : { ...xmlHeaders, ...encodedHeaders(encoding) };
  const meter = new StreamMeter();
  return sized(new Response(metered(sent, meter), { status: 207, headers }), meter);
}

async function whole(request: Request, xml: string): Promise<Response> {
  const encoding = xml.length < minCompressedChars ? undefined : answerEncoding(request, { isLong: false });
  if (encoding === undefined) return xmlResponse(207, xml);
  const bytes = await compressShort(head + xml, encoding);
  const headers = { ...xmlHeaders, ...encodedHeaders(encoding) };
  return sized(new Response(bytes, { status: 207, headers }), bytes.byteLength);
}

function toText(part: string | Uint8Array): string {
  return typeof part === "string" ? part : Buffer.from(part).toString();
}

function toBytes(part: string | Uint8Array): Uint8Array {
  return typeof part === "string" ? Buffer.from(part) : part;
}

/**
 * TextParts collects what is sent as one piece. Texts are joined once: to append each to the one before would make thousands of
 * strings for one piece, which the garbage collector has to find again.
 */
export class TextParts {
  readonly #texts: string[] = [];
  readonly #done: Array<string | Uint8Array> = [];
  #length = 0;

  /** Characters and bytes that were added since the last `take`. */
  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
  }

  /** Adds text that is encoded already. */
  addBytes(bytes: Uint8Array): void {
    this.#join();
    this.#done.push(bytes);
    this.#length += bytes.length;
  }

  /** Everything since the last call, in its order. */
  take(): Array<string | Uint8Array> {
    this.#join();
    this.#length = 0;
    return this.#done.splice(0);
  }

  #join(): void {
    if (this.#texts.length > 0) this.#done.push(this.#texts.join(""));
    this.#texts.length = 0;
  }
}

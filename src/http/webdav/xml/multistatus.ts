import { STATUS_CODES } from "node:http";
import { escapeXml } from "../../../base/xml-text.ts";

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
  return new Response(head + xml, { status, headers: { ...xmlHeaders, ...headers } });
}

/** errorResponse names the condition of RFC 4918 §16 that failed. */
export function errorResponse(
  status: number,
  condition: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return xmlResponse(status, `<D:error xmlns:D="DAV:">${condition}</D:error>\n`, headers);
}

/** statuses is a multistatus response with one status for each resource: RFC 4918 §13. */
export function statuses(
  members: ReadonlyArray<{ readonly href: string; readonly status: number }>,
): Response {
  const responses = members.map(
    ({ href, status }) =>
      `<D:response><D:href>${escapeXml(href)}</D:href><D:status>${statusLine(status)}</D:status></D:response>\n`,
  );
  return xmlResponse(207, `<D:multistatus xmlns:D="DAV:">\n${responses.join("")}</D:multistatus>\n`);
}

/** streamedMultistatus makes the response while it is sent. It waits for the first part, so that a failure there still gets its own status. */
export async function streamedMultistatus(responses: AsyncGenerator<string | Uint8Array>): Promise<Response> {
  const first = await responses.next();
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${head}<D:multistatus xmlns:D="DAV:">\n`);
    if (!first.done) yield toBytes(first.value);
    for await (const part of responses) yield toBytes(part);
    yield Buffer.from("</D:multistatus>\n");
  }
  return new Response(parts(), { status: 207, headers: xmlHeaders });
}

function toBytes(part: string | Uint8Array): Uint8Array {
  return typeof part === "string" ? Buffer.from(part) : part;
}

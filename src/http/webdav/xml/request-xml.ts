import { parseXml, type XmlElement, XmlError } from "../../../base/xml.ts";
import { bodyChunks } from "../../request/body-chunks.ts";
import { Refused } from "../http-error.ts";

/** Enough for a PROPPATCH that fills all that one resource may carry. */
const maxXmlBytes = 1024 * 1024;
/** More properties than anybody asks for. */
const mostElements = 10_000;

/** The request's XML, whatever type it claims to be; undefined when there is none. */
export async function readXml(request: Request): Promise<XmlElement | undefined> {
  const bytes = await readSome(request);
  if (bytes.length === 0) return undefined;
  try {
    return parseXml(bytes, mostElements);
  } catch (error) {
    if (error instanceof XmlError)
      throw new Refused(400, `the body is no XML that is read here: ${error.message}`);
    throw error;
  }
}

async function readSome(request: Request): Promise<Buffer> {
  const tooBig = () => new Refused(413, `the XML may have ${maxXmlBytes} bytes`);
  if (Number(request.headers.get("content-length")) > maxXmlBytes) throw tooBig();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    size += chunk.byteLength;
    if (size > maxXmlBytes) throw tooBig();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export const dav = "DAV:";

export function isDav(element: XmlElement, name: string): boolean {
  return element.namespace === dav && element.name === name;
}

/** `{namespace}name`, the key of a property. */
export function fullName({ namespace, name }: Pick<XmlElement, "namespace" | "name">): string {
  return `{${namespace}}${name}`;
}

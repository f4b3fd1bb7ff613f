import { parseXml, type XmlElement, XmlError } from "../../../base/xml.ts";
import { readBody } from "../../request/body-chunks.ts";
import { HttpError } from "../../request/http-error.ts";

/** Enough for a PROPPATCH with all properties that one resource may have. */
const maxXmlBytes = 1024 * 1024;
/** More properties than any client asks for. */
const maxElements = 10_000;

/** readXml parses the request's body, whatever its content type; undefined if it is empty. */
export async function readXml(request: Request): Promise<XmlElement | undefined> {
  const bytes = await readBody(request, maxXmlBytes);
  if (bytes === undefined) throw new HttpError(413, `the XML is above ${maxXmlBytes} bytes`);
  if (bytes.length === 0) return undefined;
  try {
    return parseXml(bytes, maxElements);
  } catch (error) {
    if (error instanceof XmlError) throw new HttpError(400, `the body is not valid XML: ${error.message}`);
    throw error;
  }
}

export const dav = "DAV:";

export function isDav(element: XmlElement, name: string): boolean {
  return element.namespace === dav && element.name === name;
}

/** fullName returns `{namespace}name`, the key of a property. */
export function fullName({ namespace, name }: Pick<XmlElement, "namespace" | "name">): string {
  return `{${namespace}}${name}`;
}

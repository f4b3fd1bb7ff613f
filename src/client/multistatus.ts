import { eachElement, type XmlElement, XmlSyntaxError } from "./xml.ts";

/** A name of WebDAV (RFC 4918) as `XmlElement` has it. */
export function dav(name: string): string {
  return `{DAV:}${name}`;
}

/** The first child element with this name of WebDAV. */
export function child(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((one) => one.name === dav(name));
}

/** The properties that a resource has; those that it lacks are listed apart, with another status. */
export function propertiesOf(response: XmlElement): XmlElement | undefined {
  const found = response.children.find(
    (one) => one.name === dav("propstat") && statusIn(child(one, "status")?.text ?? "") === 200,
  );
  return child(found, "prop");
}

/** The status of the first resource that failed; undefined when the text names none. */
export function failedStatus(xml: string): number | undefined {
  const statuses: number[] = [];
  try {
    eachElement(xml, dav("status"), ({ text }) => statuses.push(statusIn(text)));
  } catch (error) {
    // A proxy may have sent something else.
    if (!(error instanceof XmlSyntaxError)) throw error;
  }
  return statuses.find((status) => status >= 400);
}

/** RFC 4918 §14.28: a status line of HTTP. */
function statusIn(line: string): number {
  return Number(line.trim().split(/\s+/)[1]);
}

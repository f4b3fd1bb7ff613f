import { escapeXml, isElement, textOf, type XmlElement } from "../../base/xml.ts";
import { textResponse } from "../content/plain.ts";

const namespace = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';

/** document returns an XML document; `content` is XML already. */
export function document(root: string, content: string, attributes = namespace): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${content}</${root}>`;
}

export function element(name: string, text: string | number | boolean): string {
  return `<${name}>${typeof text === "string" ? escapeXml(text) : text}</${name}>`;
}

export function xmlAnswer(root: string, content: string, headers: Record<string, string> = {}): Response {
  return textResponse(document(root, content), {
    headers: { "content-type": "application/xml", ...headers },
  });
}

export function childrenNamed(parent: XmlElement, name: string): XmlElement[] {
  return parent.children.filter(isElement).filter((child) => child.name === name);
}

/** childText returns the text of the first child with this name. */
export function childText(parent: XmlElement, name: string): string | undefined {
  const [child] = childrenNamed(parent, name);
  return child && textOf(child);
}

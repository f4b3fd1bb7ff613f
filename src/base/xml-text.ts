import { unwritable, type XmlElement, xmlNamespace } from "./xml.ts";

/** What `escapeXml` replaces. */
const special = new RegExp(`[&<>"\\r]|${unwritable.source}`);
const eachSpecial = new RegExp(special, "g");
const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#13;",
};

/** `escapeXml` writes text as XML content. Characters that XML cannot contain become U+FFFD. */
export function escapeXml(text: string): string {
  if (!special.test(text)) return text;
  return text.replace(eachSpecial, (character) => references[character] ?? "\ufffd");
}

/** `escapeAttribute` writes text as an attribute's value, in which a plain line end would be read as a space. */
function escapeAttribute(text: string): string {
  return escapeXml(text).replaceAll("\t", "&#9;").replaceAll("\n", "&#10;");
}

/** `tagFor` returns a tag for a name in a namespace, and the namespace declaration that the tag needs. */
export function tagFor(
  namespace: string,
  name: string,
): { readonly tag: string; readonly declaration: string } {
  if (namespace === "") return { tag: name, declaration: ' xmlns=""' };
  if (namespace === xmlNamespace) return { tag: `xml:${name}`, declaration: "" };
  return { tag: `n:${name}`, declaration: ` xmlns:n="${escapeAttribute(namespace)}"` };
}

/** `printXml` writes an element as XML that does not depend on its context: every namespace is declared where it is used. */
export function printXml({ namespace, name, attributes, children }: XmlElement): string {
  const { tag, declaration } = tagFor(namespace, name);
  const own = [...attributes].map(([full, value], at) => {
    const end = full.lastIndexOf("}");
    const [space, local] = [full.slice(1, end), full.slice(end + 1)];
    const shown = `="${escapeAttribute(value)}"`;
    if (space === xmlNamespace) return ` xml:${local}${shown}`;
    if (space === "") return ` ${local}${shown}`;
    return ` xmlns:a${at}="${escapeAttribute(space)}" a${at}:${local}${shown}`;
  });
  const inner = children
    .map((child) => (typeof child === "string" ? escapeXml(child) : printXml(child)))
    .join("");
  return `<${tag}${declaration}${own.join("")}${inner === "" ? "/>" : `>${inner}</${tag}>`}`;
}

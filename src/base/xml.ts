/** XmlElement is an element with its namespaces resolved. */
export interface XmlElement {
  readonly namespace: string;
  readonly name: string;
  /** `{namespace}name` → value, without the declarations of namespaces. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: ReadonlyArray<XmlElement | string>;
}

/** XmlError says why a text was not accepted as XML. */
export class XmlError extends Error {
  override readonly name = "XmlError";
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace";
const declarations = "http://www.w3.org/2000/xmlns/";
const maxDepth = 64;
/** Namespace names are repeated on every element of an answer, so they are limited. */
const maxNamespaceChars = 1024;
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
const nameForm =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: the standard's own list of characters, each meant alone.
  /[A-Za-z_:\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{2FF}\u{370}-\u{37D}\u{37F}-\u{1FFF}\u{200C}\u{200D}\u{2070}-\u{218F}\u{2C00}-\u{2FEF}\u{3001}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFFD}\u{10000}-\u{EFFFF}][\w:.\-\u{B7}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{37D}\u{37F}-\u{1FFF}\u{200C}\u{200D}\u{203F}\u{2040}\u{2070}-\u{218F}\u{2C00}-\u{2FEF}\u{3001}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFFD}\u{10000}-\u{EFFFF}]*/uy;
const space = /[ \t\r\n]*/y;
/** `unwritable` matches characters that XML 1.0 cannot contain. */
const unwritable = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Scope maps prefixes to namespaces, within an outer scope. Linked instead of copied: there may be thousands of each. */
interface Scope {
  readonly own: ReadonlyMap<string, string>;
  readonly outer: Scope | undefined;
}

/**
 * `parseXml` reads a document and returns its root. Throws XmlError for a DOCTYPE (so no entity can be declared), for more than
 * `maxElements` elements and attributes together, and for nesting deeper than `maxDepth`.
 */
export function parseXml(bytes: Uint8Array, maxElements = Number.POSITIVE_INFINITY): XmlElement {
  return new Parser(decode(bytes), maxElements).document();
}

function decode(bytes: Uint8Array): string {
  const [a, b] = bytes;
  const encoding = a === 0xfe && b === 0xff ? "utf-16be" : a === 0xff && b === 0xfe ? "utf-16le" : "utf-8";
  try {
    // XML 1.0 §2.11: every line end becomes one character.
    return new TextDecoder(encoding as "utf-8", { fatal: true }).decode(bytes).replace(/\r\n?/g, "\n");
  } catch {
    throw new XmlError(`it is not ${encoding}`);
  }
}

class Parser {
  readonly #text: string;
  readonly #maxElements: number;
  #at = 0;
  #elements = 0;

  constructor(text: string, maxElements: number) {
    this.#text = text;
    this.#maxElements = maxElements;
    if (unwritable.test(text)) throw new XmlError("it contains a character that XML does not allow");
  }

  document(): XmlElement {
    if (this.#sees("<?xml")) this.#until("?>");
    this.#misc();
    if (!this.#sees("<")) throw this.#error("an element is expected here");
    const root = this.#element({ own: new Map([["xml", xmlNamespace]]), outer: undefined }, 1);
    this.#misc();
    if (this.#at < this.#text.length) throw this.#error("nothing may follow the root element");
    return root;
  }

  /** Skips comments, processing instructions and space. */
  #misc(): void {
    for (;;) {
      this.#space();
      if (this.#sees("<!--")) this.#comment();
      else if (this.#sees("<?")) this.#until("?>");
      else if (this.#sees("<!")) throw this.#error("a DOCTYPE is not allowed");
      else return;
    }
  }

  #element(outer: Scope, depth: number): XmlElement {
    if (depth > maxDepth) throw new XmlError(`it is nested deeper than ${maxDepth}`);
    this.#count();
    this.#at += 1;
    const tag = this.#name();
    const raw = this.#attributes();
    const scope = declared(outer, raw);
    const { namespace, name } = resolve(tag, scope);
    const attributes = new Map<string, string>();
    for (const [key, value] of raw) {
      if (key === "xmlns" || key.startsWith("xmlns:")) continue;
      const own = resolveAttribute(key, scope);
      const full = `{${own.namespace}}${own.name}`;
      if (attributes.has(full)) throw this.#error(`the attribute ${key} appears twice`);
      attributes.set(full, value);
    }
    if (this.#take("/>")) return { namespace, name, attributes, children: [] };
    if (!this.#take(">")) throw this.#error("the tag does not end");
    const children = this.#content(scope, depth);
    if (!this.#take(`</${tag}`)) throw this.#error(`</${tag}> is expected here`);
    this.#space();
    if (!this.#take(">")) throw this.#error("the tag does not end");
    return { namespace, name, attributes, children };
  }

  /** Attributes count, too: each may be looked up in the namespaces of all elements around it. */
  #count(): void {
    this.#elements += 1;
    if (this.#elements > this.#maxElements)
      throw new XmlError(`it has more than ${this.#maxElements} elements and attributes`);
  }

  #attributes(): Map<string, string> {
    const found = new Map<string, string>();
    for (;;) {
      const spaced = this.#space();
      if (this.#sees(">") || this.#sees("/>")) return found;
      if (!spaced) throw this.#error("a space is expected here");
      this.#count();
      const key = this.#name();
      this.#space();
      if (!this.#take("=")) throw this.#error("= is expected here");
      this.#space();
      const quote = this.#text[this.#at];
      if (quote !== '"' && quote !== "'") throw this.#error("a quoted value is expected here");
      this.#at += 1;
      const value = this.#until(quote);
      if (value.includes("<")) throw this.#error("an attribute's value may not contain <");
      if (found.has(key)) throw this.#error(`the attribute ${key} appears twice`);
      found.set(key, this.#plain(value.replace(/[\t\n]/g, " ")));
    }
  }

  #content(scope: Scope, depth: number): Array<XmlElement | string> {
    const children: Array<XmlElement | string> = [];
    const text = (more: string) => {
      const last = children.length - 1;
      if (typeof children[last] === "string") children[last] += more;
      else if (more !== "") children.push(more);
    };
    for (;;) {
      const next = this.#text.indexOf("<", this.#at);
      if (next === -1) throw this.#error("an element does not end");
      const run = this.#text.slice(this.#at, next);
      if (run.includes("]]>")) throw this.#error("]]> is not allowed here");
      text(this.#plain(run));
      this.#at = next;
      if (this.#sees("</")) return children;
      if (this.#sees("<!--")) this.#comment();
      else if (this.#take("<![CDATA[")) text(this.#until("]]>"));
      else if (this.#sees("<!")) throw this.#error("a declaration is not allowed");
      else if (this.#sees("<?")) this.#until("?>");
      else children.push(this.#element(scope, depth + 1));
    }
  }

  #comment(): void {
    this.#at += 4;
    this.#until("--");
    if (!this.#take(">")) throw this.#error("-- is not allowed in a comment");
  }

  /** Replaces character references. */
  #plain(text: string): string {
    if (!text.includes("&")) return text;
    return text.replace(/&([^;&]{0,64})(;?)/g, (_, body: string, end: string) => {
      const number = /^#(?:x([0-9a-fA-F]+)|([0-9]+))$/.exec(body);
      const point =
        number === null ? undefined : Number.parseInt(number[1] ?? number[2] ?? "", number[1] ? 16 : 10);
      const found =
        point === undefined
          ? Object.hasOwn(entities, body)
            ? entities[body]
            : undefined
          : toCharacter(point);
      if (found === undefined || end === "") throw this.#error("an entity is not known");
      return found;
    });
  }

  #name(): string {
    nameForm.lastIndex = this.#at;
    const found = nameForm.exec(this.#text)?.[0];
    if (found === undefined) throw this.#error("a name is expected here");
    this.#at += found.length;
    return found;
  }

  #space(): boolean {
    space.lastIndex = this.#at;
    const length = space.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }

  #sees(word: string): boolean {
    return this.#text.startsWith(word, this.#at);
  }

  #take(word: string): boolean {
    if (!this.#sees(word)) return false;
    this.#at += word.length;
    return true;
  }

  #until(end: string): string {
    const found = this.#text.indexOf(end, this.#at);
    if (found === -1) throw this.#error(`${end} is missing`);
    const skipped = this.#text.slice(this.#at, found);
    this.#at = found + end.length;
    return skipped;
  }

  #error(why: string): XmlError {
    return new XmlError(`${why} (at character ${this.#at + 1})`);
  }
}

function toCharacter(point: number): string | undefined {
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined;
  const character = String.fromCodePoint(point);
  return unwritable.test(character) ? undefined : character;
}

function declared(outer: Scope, attributes: ReadonlyMap<string, string>): Scope {
  const own = new Map<string, string>();
  for (const [key, value] of attributes) {
    if (key !== "xmlns" && !key.startsWith("xmlns:")) continue;
    const prefix = key === "xmlns" ? "" : key.slice(6);
    // Namespaces in XML 1.0 §3: only the default namespace can be undeclared.
    if (prefix !== "" && value === "") throw new XmlError(`the prefix ${prefix} has no namespace`);
    if (prefix === "xmlns" || value === declarations || (prefix === "xml") !== (value === xmlNamespace))
      throw new XmlError("the prefixes xml and xmlns cannot be declared");
    if (value.length > maxNamespaceChars)
      throw new XmlError(`the name of a namespace is longer than ${maxNamespaceChars}`);
    own.set(prefix, value);
  }
  return own.size === 0 ? outer : { own, outer };
}

interface ResolvedName {
  readonly namespace: string;
  readonly name: string;
}

/** Namespaces in XML 1.0 §6.2: the default namespace does not apply to attributes. */
function resolveAttribute(qualified: string, scope: Scope): ResolvedName {
  return qualified.includes(":") ? resolve(qualified, scope) : { namespace: "", name: qualified };
}

function resolve(qualified: string, scope: Scope): ResolvedName {
  const colon = qualified.indexOf(":");
  const prefix = colon === -1 ? "" : qualified.slice(0, colon);
  const name = qualified.slice(colon + 1);
  if (colon === 0 || name === "" || name.includes(":"))
    throw new XmlError(`${qualified} is not a valid name`);
  const namespace = namespaceOf(prefix, scope);
  if (namespace === undefined && prefix !== "") throw new XmlError(`the prefix ${prefix} is not declared`);
  return { namespace: namespace ?? "", name };
}

function namespaceOf(prefix: string, scope: Scope): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const found = at.own.get(prefix);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function isElement(child: XmlElement | string): child is XmlElement {
  return typeof child !== "string";
}

/** `textOf` is all text below an element. */
export function textOf({ children }: XmlElement): string {
  return children.map((child) => (typeof child === "string" ? child : textOf(child))).join("");
}

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

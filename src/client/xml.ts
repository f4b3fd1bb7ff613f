/** An element with its namespace resolved: `{DAV:}href`. */
export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** The text directly inside it, without that of its children. */
  readonly text: string;
}

/** The text is not well-formed XML, or has a DOCTYPE, which is not read. */
export class XmlSyntaxError extends Error {
  override readonly name = "XmlSyntaxError";
}

/** The namespaces that apply to an element and what is in it. */
interface Scope {
  /** Prefix → namespace. */
  readonly namespaces: ReadonlyMap<string, string>;
  /** Tags without attributes that were read before, as they are written: a listing repeats the same ten. */
  readonly tags: Map<string, Tag>;
}

interface Tag {
  readonly tag: string;
  readonly name: string;
  readonly isEmpty: boolean;
}

interface OpenElement {
  readonly tag: string;
  readonly scope: Scope;
  /** Undefined outside of the elements that are looked for. */
  readonly built: { readonly name: string; readonly children: XmlElement[]; text: string } | undefined;
}

const startTag = /<([^\s<>/="'!?][^\s<>/="']*)((?:\s+[^\s<>/="']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;
const endTag = /<\/([^\s<>/]+)\s*>/y;
const attribute = /([^\s<>/="']+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const xmlNamespace = ["xml", "http://www.w3.org/XML/1998/namespace"] as const;

/**
 * Hands over every element of the name `wanted`, in order; returns the name of the root. Only one of them at a time is held
 * as a tree, so a listing of 100,000 files takes little memory. Not a parser of the runtime, because not every runtime has
 * one, and pages that enforce Trusted Types may not use theirs.
 */
export function eachElement(xml: string, wanted: string, found: (element: XmlElement) => void): string {
  return new Reader(xml, wanted, found).read();
}

class Reader {
  readonly #xml: string;
  readonly #wanted: string;
  readonly #found: (element: XmlElement) => void;
  #at = 0;
  #root: string | undefined;
  readonly #outermost: Scope = { namespaces: new Map([xmlNamespace]), tags: new Map() };
  readonly #open: OpenElement[] = [];

  constructor(xml: string, wanted: string, found: (element: XmlElement) => void) {
    this.#xml = xml;
    this.#wanted = wanted;
    this.#found = found;
  }

  read(): string {
    const xml = this.#xml;
    while (this.#at < xml.length) {
      const next = xml.indexOf("<", this.#at);
      if (next !== this.#at) this.#text(unescaped(xml.slice(this.#at, next === -1 ? xml.length : next)));
      this.#at = next === -1 ? xml.length : next;
      if (next !== -1) this.#markup();
    }
    if (this.#root === undefined || this.#open.length > 0) throw this.#error("it ends too early");
    return this.#root;
  }

  #markup(): void {
    const xml = this.#xml;
    if (xml.startsWith("</", this.#at)) this.#close();
    else if (xml.startsWith("<!--", this.#at)) this.#past("-->");
    else if (xml.startsWith("<![CDATA[", this.#at)) this.#text(this.#past("]]>").slice("<![CDATA[".length));
    else if (xml.startsWith("<?", this.#at)) this.#past("?>");
    else this.#start();
  }

  #text(text: string): void {
    const element = this.#open.at(-1);
    if (element?.built !== undefined) element.built.text += text;
    else if (element === undefined && text.trim() !== "") throw this.#error("text is outside of the root");
  }

  #start(): void {
    const outer = this.#open.at(-1);
    if (outer === undefined && this.#root !== undefined) throw this.#error("it has a second root");
    const { tag, name, isEmpty, scope } = this.#startTag(outer?.scope ?? this.#outermost);
    this.#root ??= name;
    const isBuilt = outer?.built !== undefined || name === this.#wanted;
    this.#open.push({ tag, scope, built: isBuilt ? { name, children: [], text: "" } : undefined });
    if (isEmpty) this.#finish();
  }

  #startTag(outer: Scope): Tag & { readonly scope: Scope } {
    const end = this.#xml.indexOf(">", this.#at) + 1;
    const written = this.#xml.slice(this.#at, end);
    const known = outer.tags.get(written);
    if (known !== undefined) {
      this.#at = end;
      return { ...known, scope: outer };
    }
    const [whole, tag = "", attributes = "", slash] = this.#match(startTag);
    const scope = scopeOf(attributes, outer);
    const read = { tag, name: resolved(tag, scope), isEmpty: slash === "/" };
    if (attributes === "") outer.tags.set(whole, read);
    return { ...read, scope };
  }

  #close(): void {
    const { tag = "" } = this.#open.at(-1) ?? {};
    const from = this.#at + 2;
    if (this.#xml.startsWith(tag, from) && this.#xml[from + tag.length] === ">")
      this.#at = from + tag.length + 1;
    else if (this.#match(endTag)[1] !== tag) throw this.#error("a tag closes another element");
    this.#finish();
  }

  #finish(): void {
    const built = this.#open.pop()?.built;
    if (built === undefined) return;
    const outer = this.#open.at(-1)?.built;
    if (outer === undefined) this.#found(built);
    else outer.children.push(built);
  }

  #match(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#xml);
    if (match === null) throw this.#error("it is not well-formed");
    this.#at = pattern.lastIndex;
    return match;
  }

  /** What is skipped, without the end. */
  #past(end: string): string {
    const start = this.#at;
    const found = this.#xml.indexOf(end, start);
    if (found === -1) throw this.#error(`${end} is missing`);
    this.#at = found + end.length;
    return this.#xml.slice(start, found);
  }

  #error(why: string): XmlSyntaxError {
    return new XmlSyntaxError(`${why} (at character ${this.#at + 1})`);
  }
}

function scopeOf(attributes: string, outer: Scope): Scope {
  if (attributes === "") return outer;
  const declared = [...attributes.matchAll(attribute)].flatMap(([, name = "", double, single]) => {
    const value = unescaped(double ?? single ?? "");
    if (name === "xmlns") return [["", value] as const];
    return name.startsWith("xmlns:") ? [[name.slice("xmlns:".length), value] as const] : [];
  });
  if (declared.length === 0) return outer;
  return { namespaces: new Map([...outer.namespaces, ...declared]), tags: new Map() };
}

function resolved(tag: string, { namespaces }: Scope): string {
  const colon = tag.indexOf(":");
  const prefix = colon === -1 ? "" : tag.slice(0, colon);
  const namespace = namespaces.get(prefix);
  if (namespace === undefined && prefix !== "")
    throw new XmlSyntaxError(`the prefix ${prefix} is not declared`);
  return `{${namespace ?? ""}}${tag.slice(colon + 1)}`;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescaped(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w*));?/gi,
    (whole, hex?: string, decimal?: string, name = "") => {
      const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal ?? "NaN");
      const character = code <= 0x10ffff ? String.fromCodePoint(code) : entities[name];
      if (character === undefined || !whole.endsWith(";"))
        throw new XmlSyntaxError(`${whole} is not a character`);
      return character;
    },
  );
}

import { escapeXml, tagFor } from "../../../base/xml-text.ts";
import type { Properties } from "../../../buckets/properties.ts";
import { hrefOf } from "../dav-path.ts";
import { liveProperties, type Subject } from "./live-properties.ts";
import { statusLine } from "./multistatus.ts";

/** What a PROPFIND wants to know. */
export type Question =
  | { readonly kind: "names" }
  | { readonly kind: "all"; readonly include: readonly string[] }
  | { readonly kind: "some"; readonly names: readonly string[] };

/** The names that a PROPFIND asks for. */
export function namesIn(question: Question): readonly string[] {
  return question.kind === "some" ? question.names : question.kind === "all" ? question.include : [];
}

/** Characters from which a text is worth a piece of its own in the answer. */
const longText = 16 * 1024;

/**
 * PropertyAnswer writes what one PROPFIND answers about each of its resources. A request may name thousands of properties that no
 * resource has, so what is the same for all resources is written once: the cost of a resource is that of the properties it has.
 */
export class PropertyAnswer {
  readonly #named: ReadonlySet<string>;
  /** Properties that the server computes. */
  readonly #live: readonly string[];
  /** Properties asked for by name that a resource can have only as dead ones, and the empty element of each. */
  readonly #onlyDead: ReadonlyMap<string, string>;
  /** All elements of `#onlyDead`, for a resource that has none of them. As bytes if long, so that they are not encoded for each. */
  readonly #absent: string | Uint8Array;

  constructor(private readonly question: Question) {
    const names = namesIn(question);
    const shown = [...liveProperties].flatMap(([name, { hidden }]) => (hidden ? [] : [name]));
    const asked = question.kind === "some" ? names : [...shown, ...names];
    this.#named = new Set(names);
    this.#live = [...new Set(asked)].filter((name) => liveProperties.has(name));
    this.#onlyDead = new Map(
      names.filter((name) => !liveProperties.has(name)).map((name) => [name, element(name, "")]),
    );
    const absent = [...this.#onlyDead.values()].join("");
    this.#absent = absent.length < longText ? absent : Buffer.from(absent);
  }

  /** The `response` element of a resource with these dead properties, in parts to be sent one after the other. */
  describe(subject: Subject, dead: Properties): Array<string | Uint8Array> {
    const { entry, bucket } = subject;
    const href = escapeXml(hrefOf(bucket, entry.path, entry.kind === "folder"));
    const live = this.#liveElements(subject, dead);
    const own = this.#deadNames(dead);
    const found = live.found + own.map((name) => this.#elementOf(name, dead)).join("");
    const absent = this.#absentBeside(own);
    const isComplete = live.missing === "" && absent.length === 0;
    const good = found !== "" || isComplete ? propstat(found, 200) : "";
    const start = `<D:response><D:href>${href}</D:href>${good}`;
    if (isComplete) return [`${start}</D:response>\n`];
    return [`${start}${propstatStart}${live.missing}`, absent, `${propstatEnd(404)}</D:response>\n`];
  }

  #liveElements(subject: Subject, dead: Properties): { found: string; missing: string } {
    let [found, missing] = ["", ""];
    for (const name of this.#live) {
      const property = liveProperties.get(name);
      if (property?.open && Object.hasOwn(dead, name)) {
        found += this.#elementOf(name, dead);
        continue;
      }
      const value = property?.value(subject);
      if (value !== undefined) found += element(name, this.question.kind === "names" ? "" : value);
      else if (this.#named.has(name)) missing += element(name, "");
    }
    return { found, missing };
  }

  /** The dead properties of a resource that belong in the answer. */
  #deadNames(dead: Properties): string[] {
    const isAsked = (name: string) => this.question.kind !== "some" || this.#onlyDead.has(name);
    return Object.keys(dead).filter((name) => !liveProperties.has(name) && isAsked(name));
  }

  #elementOf(name: string, dead: Properties): string {
    return this.question.kind === "names" ? element(name, "") : (dead[name] ?? "");
  }

  #absentBeside(own: readonly string[]): string | Uint8Array {
    if (!own.some((name) => this.#onlyDead.has(name))) return this.#absent;
    const present = new Set(own);
    return [...this.#onlyDead].flatMap(([name, text]) => (present.has(name) ? [] : [text])).join("");
  }
}

const propstatStart = "<D:propstat><D:prop>";

function propstatEnd(status: number, more = ""): string {
  return `</D:prop><D:status>${statusLine(status)}</D:status>${more}</D:propstat>`;
}

/** A status for properties, whose elements are XML already. */
export function propstat(elements: string, status: number, more = ""): string {
  return `${propstatStart}${elements}${propstatEnd(status, more)}`;
}

/** A property's element around its inside, which is XML already. */
export function element(full: string, inside: string): string {
  const end = full.lastIndexOf("}");
  const [namespace, name] = [full.slice(1, end), full.slice(end + 1)];
  const { tag, declaration } =
    namespace === "DAV:" ? { tag: `D:${name}`, declaration: "" } : tagFor(namespace, name);
  return inside === "" ? `<${tag}${declaration}/>` : `<${tag}${declaration}>${inside}</${tag}>`;
}

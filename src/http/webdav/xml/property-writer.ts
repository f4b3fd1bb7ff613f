import { escapeXml, tagFor } from "../../../base/xml-text.ts";
import type { Properties } from "../../../buckets/metadata/properties.ts";
import { hrefOf } from "../dav-path.ts";
import { type LiveProperty, liveProperties, type Resource } from "./live-properties.ts";
import { statusLine } from "./multistatus.ts";

/** PropertyQuery is which properties a PROPFIND asks for. */
export type PropertyQuery =
  | { readonly kind: "names" }
  | { readonly kind: "all"; readonly include: readonly string[] }
  | { readonly kind: "some"; readonly names: readonly string[] };

/** namesIn returns the names that a PROPFIND asks for. */
export function namesIn(query: PropertyQuery): readonly string[] {
  return query.kind === "some" ? query.names : query.kind === "all" ? query.include : [];
}

/** Texts of this length are sent as a part of their own. */
const minSeparateChars = 16 * 1024;

/**
 * PropertyWriter writes the `response` elements of one PROPFIND. A request may name thousands of properties that no resource has, so
 * the part that is the same for all resources is written once: the cost of a resource is that of the properties it has.
 */
export class PropertyWriter {
  readonly #query: PropertyQuery;
  readonly #named: ReadonlySet<string>;
  /** Properties that the server computes, each with its tags. */
  readonly #live: readonly LiveElement[];
  /** Properties requested by name that can only be dead ones, and the empty element of each. */
  readonly #onlyDead: ReadonlyMap<string, string>;
  /** All elements of `#onlyDead`, for a resource that has none of them. Bytes if long, so that they are not encoded for each resource. */
  readonly #absent: string | Uint8Array;

  constructor(query: PropertyQuery) {
    this.#query = query;
    const names = namesIn(query);
    const shown = [...liveProperties].flatMap(([name, { hidden }]) => (hidden ? [] : [name]));
    const asked = query.kind === "some" ? names : [...shown, ...names];
    this.#named = new Set(names);
    this.#live = [...new Set(asked)].flatMap((name) => liveElements.get(name) ?? []);
    this.#onlyDead = new Map(
      names.filter((name) => !liveProperties.has(name)).map((name) => [name, element(name, "")]),
    );
    const absent = [...this.#onlyDead.values()].join("");
    this.#absent = absent.length < minSeparateChars ? absent : Buffer.from(absent);
  }

  /** The `response` element of a resource with these dead properties, in parts to be sent one after the other. */
  describe(resource: Resource, dead: Properties): Array<string | Uint8Array> {
    const { entry, bucket } = resource;
    const href = escapeXml(hrefOf(bucket, entry.path, entry.kind));
    const live = this.#liveElements(resource, dead);
    const own = this.#deadNames(dead);
    const found = live.found + own.map((name) => this.#elementOf(name, dead)).join("");
    const absent = this.#absentBeside(own);
    const isComplete = live.missing === "" && absent.length === 0;
    const good = found !== "" || isComplete ? propstat(found, 200) : "";
    const start = `<D:response><D:href>${href}</D:href>${good}`;
    if (isComplete) return [`${start}</D:response>\n`];
    return [`${start}${propstatStart}${live.missing}`, absent, `${propstatEnd(404)}</D:response>\n`];
  }

  #liveElements(resource: Resource, dead: Properties): { found: string; missing: string } {
    let [found, missing] = ["", ""];
    const isNamesOnly = this.#query.kind === "names";
    for (const { name, property, start, end, empty } of this.#live) {
      if (property.overridable && Object.hasOwn(dead, name)) {
        found += this.#elementOf(name, dead);
        continue;
      }
      const value = property.value(resource);
      if (value !== undefined) found += isNamesOnly || value === "" ? empty : start + value + end;
      else if (this.#named.has(name)) missing += empty;
    }
    return { found, missing };
  }

  /** The dead properties of a resource that are requested. */
  #deadNames(dead: Properties): string[] {
    const isRequested = (name: string) => this.#query.kind !== "some" || this.#onlyDead.has(name);
    return Object.keys(dead).filter((name) => !liveProperties.has(name) && isRequested(name));
  }

  #elementOf(name: string, dead: Properties): string {
    return this.#query.kind === "names" ? element(name, "") : (dead[name] ?? "");
  }

  #absentBeside(own: readonly string[]): string | Uint8Array {
    if (!own.some((name) => this.#onlyDead.has(name))) return this.#absent;
    const present = new Set(own);
    return [...this.#onlyDead].flatMap(([name, text]) => (present.has(name) ? [] : [text])).join("");
  }
}

interface LiveElement {
  readonly name: string;
  readonly property: LiveProperty;
  readonly start: string;
  readonly end: string;
  readonly empty: string;
}

const liveElements: ReadonlyMap<string, LiveElement> = new Map(
  [...liveProperties].map(([name, property]) => [name, { name, property, ...tagsOf(name) }]),
);

const propstatStart = "<D:propstat><D:prop>";

function propstatEnd(status: number, more = ""): string {
  return `</D:prop><D:status>${statusLine(status)}</D:status>${more}</D:propstat>`;
}

/** propstat gives properties a status; `elements` is XML. */
export function propstat(elements: string, status: number, more = ""): string {
  return `${propstatStart}${elements}${propstatEnd(status, more)}`;
}

/** element returns a property's element; `content` is XML. */
export function element(full: string, content: string): string {
  const { start, end, empty } = tagsOf(full);
  return content === "" ? empty : start + content + end;
}

function tagsOf(full: string): { readonly start: string; readonly end: string; readonly empty: string } {
  const close = full.lastIndexOf("}");
  const [namespace, name] = [full.slice(1, close), full.slice(close + 1)];
  const { tag, declaration } =
    namespace === "DAV:" ? { tag: `D:${name}`, declaration: "" } : tagFor(namespace, name);
  return { start: `<${tag}${declaration}>`, end: `</${tag}>`, empty: `<${tag}${declaration}/>` };
}

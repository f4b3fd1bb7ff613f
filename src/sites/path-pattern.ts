/** Names of a pattern, at most: it bounds what the rules of a bucket take in memory. */
const maxSegments = 32;

/** PathPattern is a path of `_headers` or `_redirects`: literal names, `:name` for any one name, and `*` for any text. */
export interface PathPattern {
  /** The names before the splat, or all of them. Undefined is a placeholder. */
  readonly segments: readonly (string | undefined)[];
  readonly placeholders: readonly { readonly name: string; readonly at: number }[];
  readonly splat: Splat | undefined;
}

/** The literal text around `*`: after the last slash before it, and behind it. */
interface Splat {
  readonly before: string;
  /** The texts between several `*`. */
  readonly between: readonly string[];
  readonly behind: string;
  /** Whether the pattern ends with `*`, so that a slash at the end of a path is a part of what it matched. */
  readonly isLast: boolean;
}

/** Captures are the texts that placeholders and the splat of a pattern matched, by name; that of the splat is `splat`. */
export type Captures = ReadonlyMap<string, string>;

interface PatternOptions {
  /** How many `*` a path may contain. What each of several matched cannot be told. */
  readonly maxStars: number;
}

/** parsePattern returns what is wrong with the text, if it is not a pattern. A slash at its end makes no difference. */
export function parsePattern(text: string, { maxStars }: PatternOptions): PathPattern | string {
  if (!text.startsWith("/")) return "a path begins with /";
  if (/[?#]/.test(text)) return "a path has no query and no fragment: ? and # are not matched";
  const [start = "", ...rest] = text.split(/\*+/);
  const isSplat = rest.length > 0;
  if (rest.length > maxStars || (maxStars === 1 && text.includes("**")))
    return `a path may contain ${maxStars === 1 ? "one" : maxStars} * at most`;
  const names = (isSplat ? start : withoutSlash(start)).split("/").slice(1);
  const before = isSplat ? decodeName(names.pop() ?? "") : "";
  const behind = decodeName(withoutSlash(rest.pop() ?? ""));
  const between = rest.map(decodeName).filter((piece) => piece !== undefined);
  if (before === undefined || behind === undefined || between.length < rest.length)
    return "the path has an invalid percent-encoding";
  if (names.length > maxSegments) return `the path has more than ${maxSegments} names`;
  if (/^:[A-Za-z]/.test(before) || [...between, behind].some((piece) => /\/:[A-Za-z]/.test(piece)))
    return "a placeholder is a whole name of the path, before the *";
  const segments: (string | undefined)[] = [];
  const placeholders: PathPattern["placeholders"][number][] = [];
  for (const [at, name] of names.entries()) {
    if (/^:[A-Za-z]/.test(name)) {
      const placeholder = name.slice(1);
      if (!/^\w+$/.test(placeholder)) return "a placeholder is a whole name of the path, such as /:year/";
      if (placeholder === "splat") return "the name :splat is that of the *";
      if (placeholders.some((other) => other.name === placeholder))
        return `the placeholder :${placeholder} occurs twice`;
      placeholders.push({ name: placeholder, at });
      segments.push(undefined);
      continue;
    }
    const literal = decodeName(name);
    if (literal === undefined) return "the path has an invalid percent-encoding";
    if (literal === "" || literal === "." || literal === "..")
      return "the path has an empty name, a . or a .., which no address has";
    segments.push(literal);
  }
  return {
    segments,
    placeholders,
    splat: isSplat ? { before, between, behind, isLast: text.endsWith("*") } : undefined,
  };
}

function withoutSlash(text: string): string {
  return text.endsWith("/") ? text.slice(0, -1) : text;
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

interface Entry<T> {
  readonly order: number;
  readonly pattern: PathPattern;
  readonly value: T;
}

/** A node of the tree; most have one child and no patterns, so that what is not needed is not made. */
class Node<T> {
  literals: Map<string, Node<T>> | undefined;
  placeholder: Node<T> | undefined;
  /** Patterns that end here. */
  ends: Entry<T>[] | undefined;
  /** Patterns whose splat begins here. */
  splats: Entry<T>[] | undefined;
  /** The nodes from here on that a search visits, at most: itself, what is below one literal, and what is below the placeholder. */
  maxVisited = 1;
  #maxBelowLiteral = 0;

  /** maxVisitedWith returns the value of `maxVisited` if the child of a name had `childMax`. */
  maxVisitedWith(segment: string | undefined, childMax: number): number {
    const belowLiteral = segment === undefined ? 0 : childMax;
    const belowPlaceholder = segment === undefined ? childMax : (this.placeholder?.maxVisited ?? 0);
    return 1 + Math.max(this.#maxBelowLiteral, belowLiteral) + belowPlaceholder;
  }

  /** grow takes over what `maxVisitedWith` told. */
  grow(segment: string | undefined, childMax: number): void {
    this.maxVisited = this.maxVisitedWith(segment, childMax);
    if (segment !== undefined) this.#maxBelowLiteral = Math.max(this.#maxBelowLiteral, childMax);
  }

  known(segment: string | undefined): Node<T> | undefined {
    return segment === undefined ? this.placeholder : this.literals?.get(segment);
  }

  child(segment: string | undefined): Node<T> {
    if (segment === undefined) {
      this.placeholder ??= new Node<T>();
      return this.placeholder;
    }
    this.literals ??= new Map();
    const known = this.literals.get(segment);
    if (known !== undefined) return known;
    const made = new Node<T>();
    this.literals.set(segment, made);
    return made;
  }
}

/** Match is a value whose pattern matched. */
export interface Match<T> {
  readonly value: T;
  captures(): Captures;
}

/**
 * PatternTable finds the values whose patterns match a path. Patterns are a tree of their names, of which a search visits each
 * node at most once, so that a thousand of them cost little more than one. Patterns that have a name and a placeholder at the
 * same place, at many places, make it visit many; `maxVisited` bounds that.
 */
export class PatternTable<T> {
  readonly #root = new Node<T>();
  readonly #maxVisited: number;
  #size = 0;

  constructor({ maxVisited = Number.POSITIVE_INFINITY }: { readonly maxVisited?: number } = {}) {
    this.#maxVisited = maxVisited;
  }

  get size(): number {
    return this.#size;
  }

  /** add adds a value. False if a search could then visit more nodes than it may; the value is not added. */
  add(pattern: PathPattern, value: T): boolean {
    if (this.#maxVisitedWith(pattern) > this.#maxVisited) return false;
    const path: Node<T>[] = [this.#root];
    let node = this.#root;
    for (const segment of pattern.segments) {
      node = node.child(segment);
      path.push(node);
    }
    for (let at = pattern.segments.length - 1; at >= 0; at -= 1)
      path[at]?.grow(pattern.segments[at], path[at + 1]?.maxVisited ?? 0);
    const entry = { order: this.#size, pattern, value };
    const list = pattern.splat === undefined ? "ends" : "splats";
    node[list] ??= [];
    node[list].push(entry);
    this.#size += 1;
    return true;
  }

  #maxVisitedWith({ segments }: PathPattern): number {
    const path: (Node<T> | undefined)[] = [this.#root];
    for (const segment of segments) path.push(path.at(-1)?.known(segment));
    let max = path.at(-1)?.maxVisited ?? 1;
    for (let at = segments.length - 1; at >= 0; at -= 1)
      max = path[at]?.maxVisitedWith(segments[at], max) ?? max + 1;
    return max;
  }

  /**
   * first returns the match that was added first. `path` is decoded, without a slash at its beginning; one at its end makes no
   * difference.
   */
  first(path: string): Match<T> | undefined {
    let best: Entry<T> | undefined;
    const names = namesOf(path);
    this.#visit(names, (entry) => {
      if (best === undefined || entry.order < best.order) best = entry;
    });
    return best && matchOf(best, names);
  }

  /** all returns every match, in the order in which they were added. */
  all(path: string): Match<T>[] {
    const found: Entry<T>[] = [];
    const names = namesOf(path);
    this.#visit(names, (entry) => found.push(entry));
    return found.sort((a, b) => a.order - b.order).map((entry) => matchOf(entry, names));
  }

  #visit(names: Names, report: (entry: Entry<T>) => void): void {
    const visit = (node: Node<T>, depth: number): void => {
      for (const entry of node.splats ?? [])
        if (splatIn(entry.pattern, names, depth) !== undefined) report(entry);
      const name = names.list[depth];
      if (name === undefined) {
        for (const entry of node.ends ?? []) report(entry);
        return;
      }
      const literal = node.literals?.get(name);
      if (literal !== undefined) visit(literal, depth + 1);
      if (node.placeholder !== undefined) visit(node.placeholder, depth + 1);
    };
    visit(this.#root, 0);
  }
}

interface Names {
  readonly path: string;
  readonly list: readonly string[];
  /** Where each name begins in the path; one more for the end. */
  readonly starts: readonly number[];
}

function namesOf(text: string): Names {
  const path = withoutSlash(text);
  const list = path === "" ? [] : path.split("/");
  const starts: number[] = [0];
  for (const name of list) starts.push((starts.at(-1) ?? 0) + name.length + 1);
  return { path, list, starts };
}

/** The text that the splat matches in what follows the first `depth` names; undefined if it does not match. `/app/*` matches `/app` too. */
function splatIn({ splat }: PathPattern, { path, starts }: Names, depth: number): string | undefined {
  if (splat === undefined) return undefined;
  const { before, between, behind } = splat;
  const rest = path.slice(starts[depth]);
  if (rest.length < before.length + behind.length) return undefined;
  if (!rest.startsWith(before) || !rest.endsWith(behind)) return undefined;
  const text = rest.slice(before.length, rest.length - behind.length);
  let from = 0;
  for (const piece of between) {
    const at = text.indexOf(piece, from);
    if (at === -1) return undefined;
    from = at + piece.length;
  }
  return text;
}

function matchOf<T>({ pattern, value }: Entry<T>, names: Names): Match<T> {
  return {
    value,
    captures() {
      const captures = new Map<string, string>();
      for (const { name, at } of pattern.placeholders) captures.set(name, names.list[at] ?? "");
      if (pattern.splat !== undefined)
        captures.set("splat", splatIn(pattern, names, pattern.segments.length) ?? "");
      return captures;
    },
  };
}

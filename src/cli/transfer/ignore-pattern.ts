/** Part is a piece of the name of one file or folder in a pattern. */
type Part =
  | { readonly kind: "character"; readonly is: (character: string) => boolean }
  | { readonly kind: "star" };

/** A segment of a pattern between two slashes; `**` stands for any number of folders. */
type Segment = readonly Part[] | "**";

/** InvalidPattern says what is wrong with a pattern. A rule that never matches could publish what it should keep back. */
export class InvalidPattern extends Error {
  override readonly name = "InvalidPattern";
}

/** IgnorePattern is one pattern of gitignore's syntax (gitignore(5)), without the `!` in front of it. */
export class IgnorePattern {
  readonly text: string;
  /** Whether it names a path from the top. A pattern without a slash matches the name of a file or folder anywhere. */
  readonly isAnchored: boolean;
  readonly #foldersOnly: boolean;
  readonly #segments: readonly Segment[];

  constructor(text: string) {
    this.text = text;
    this.#foldersOnly = text.endsWith("/");
    const path = this.#foldersOnly ? text.slice(0, -1) : text;
    this.isAnchored = path.includes("/");
    const names = path.replace(/^\//, "").split("/");
    if (names.includes("")) throw new InvalidPattern("a name between two slashes is missing");
    this.#segments = names.map((name) => (name === "**" && this.isAnchored ? "**" : partsOf(name)));
  }

  matches(path: string, kind: "file" | "folder"): boolean {
    if (this.#foldersOnly && kind === "file") return false;
    const names = path.split("/");
    if (this.isAnchored) return matchesNames(this.#segments, names, "whole");
    const [only] = this.#segments;
    return only !== undefined && only !== "**" && matchesName(only, names.at(-1) ?? "");
  }

  /** Tells whether a path below a folder could match. */
  mayMatchBelow(folder: string): boolean {
    return !this.isAnchored || matchesNames(this.#segments, folder.split("/"), "beginning");
  }
}

/** `beginning`: the names are those of a folder, and what is left of the pattern could match below it. */
function matchesNames(
  segments: readonly Segment[],
  names: readonly string[],
  extent: "whole" | "beginning",
): boolean {
  // The positions in the pattern at which the next name may be matched: as many as segments at most, so there is no backtracking.
  let positions = skippingFolders(segments, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of positions) {
      const segment = segments[at];
      if (segment === "**") {
        next.add(at);
        // At the end it matches what is inside of a folder, not the folder itself.
        if (at === segments.length - 1) next.add(segments.length);
      } else if (segment !== undefined && matchesName(segment, name)) next.add(at + 1);
    }
    positions = skippingFolders(segments, next);
  }
  if (extent === "beginning") return [...positions].some((at) => at < segments.length);
  return positions.has(segments.length);
}

/** Adds the positions after each `**` that is not at the end: it may stand for no folder at all. */
function skippingFolders(segments: readonly Segment[], positions: Set<number>): Set<number> {
  for (const at of positions) if (segments[at] === "**" && at < segments.length - 1) positions.add(at + 1);
  return positions;
}

/** Compares a name with a segment by going back to the last star alone, so it takes length × length steps at most. */
function matchesName(parts: readonly Part[], name: string): boolean {
  const characters = [...name];
  let [at, part] = [0, 0];
  let star: { readonly part: number; at: number } | undefined;
  while (at < characters.length) {
    const now = parts[part];
    if (now?.kind === "star") {
      star = { part, at };
      part += 1;
    } else if (now?.is(characters[at] ?? "")) {
      at += 1;
      part += 1;
    } else if (star !== undefined) {
      star.at += 1;
      at = star.at;
      part = star.part + 1;
    } else return false;
  }
  return parts.slice(part).every(({ kind }) => kind === "star");
}

function partsOf(name: string): Part[] {
  const parts: Part[] = [];
  const characters = [...name];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") parts.push({ kind: "star" });
    else if (character === "?") parts.push({ kind: "character", is: () => true });
    else if (character === "[") {
      const { is, end } = classAt(characters, at);
      parts.push({ kind: "character", is });
      at = end;
    } else {
      const literal = character === "\\" ? characters[++at] : character;
      if (literal === undefined) throw new InvalidPattern("there is nothing after the last backslash");
      parts.push({ kind: "character", is: (other) => other === literal });
    }
  }
  return parts;
}

/** Reads `[a-z]`, `[!a-z]` or `[^a-z]`, which begins at `begin`. */
function classAt(
  characters: readonly string[],
  begin: number,
): { readonly is: (character: string) => boolean; readonly end: number } {
  const isNegated = characters[begin + 1] === "!" || characters[begin + 1] === "^";
  const ranges: [from: string, to: string][] = [];
  let at = begin + (isNegated ? 2 : 1);
  const first = at;
  const next = () => (characters[at] === "\\" ? characters[++at] : characters[at]);
  // A bracket right at the beginning is a member of the class.
  for (; characters[at] !== "]" || at === first; at += 1) {
    const from = next();
    if (from === undefined) throw new InvalidPattern("a [ is not closed by ]; write \\[ for the character");
    if (characters[at + 1] !== "-" || characters[at + 2] === "]" || characters[at + 2] === undefined) {
      ranges.push([from, from]);
      continue;
    }
    at += 2;
    ranges.push([from, next() ?? from]);
  }
  const isIn = (character: string) => ranges.some(([from, to]) => from <= character && character <= to);
  return { is: (character) => isIn(character) !== isNegated, end: at };
}

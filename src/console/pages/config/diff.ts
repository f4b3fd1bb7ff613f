export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Limit for comparing lines. Above it the page would freeze, so everything between counts as replaced. */
const maxPairs = 4_000_000;

/** Minimal line diff of two texts. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const old = before.split("\n");
  const next = after.split("\n");
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  const maxEnd = Math.min(old.length, next.length) - start;
  while (end < maxEnd && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  return [
    ...lines("same", old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...lines("same", old.slice(old.length - end)),
  ];
}

/** Diff of the part between the common start and end. */
function middle(old: readonly string[], next: readonly string[]): DiffLine[] {
  const width = next.length + 1;
  if (old.length * next.length > maxPairs) return [...lines("removed", old), ...lines("added", next)];
  // common[i, j]: length of the longest common subsequence of old[i…] and next[j…].
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = next.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < next.length) {
    const [a = "", b = ""] = [old[i], next[j]];
    if (a === b) {
      found.push({ kind: "same", text: a });
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      found.push({ kind: "removed", text: a });
      i += 1;
    } else {
      found.push({ kind: "added", text: b });
      j += 1;
    }
  }
  return [...found, ...lines("removed", old.slice(i)), ...lines("added", next.slice(j))];
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** Changes with a few lines of context. A number is the count of unchanged lines left out. */
export function withContext(all: readonly DiffLine[], around = 3): readonly (DiffLine | number)[] {
  const shown = new Set<number>();
  for (const [at, { kind }] of all.entries())
    if (kind !== "same") for (let near = at - around; near <= at + around; near += 1) shown.add(near);
  const found: (DiffLine | number)[] = [];
  for (const [at, line] of all.entries()) {
    const last = found.at(-1);
    if (shown.has(at)) found.push(line);
    else if (typeof last === "number") found[found.length - 1] = last + 1;
    else found.push(1);
  }
  return found;
}

/** Password in an address such as `postgres://user:password@host/name`, or after `?password=`. Rather matches too much. */
export const secrets = /(?<=:\/\/[^\s:@/"']*:)[^\s"']+(?=@)|(?<=[?&]password=)[^&\s"']+/g;

export function hideSecrets(text: string): string {
  return text.replace(secrets, "••••••");
}

export function hasSecrets(text: string): boolean {
  return text.search(secrets) !== -1;
}

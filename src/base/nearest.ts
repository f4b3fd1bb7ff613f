/** `nearest` returns the `names` that a mistyped `word` may have meant, the likeliest first. */
export function nearest(word: string, names: readonly string[], max = 3): string[] {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(word);
  if (wanted === "") return [];
  return (
    names
      .map((name) => ({ name, text: plain(name), inside: plain(name).includes(wanted) }))
      // The difference in length is a lower bound of the distance, so very long words need no comparison.
      .filter(({ text, inside }) => inside || Math.abs(wanted.length - text.length) <= maxDistance(text))
      .map(({ name, text, inside }) => ({ name, text, inside, far: distance(wanted, text) }))
      .filter(({ text, far, inside }) => inside || far <= maxDistance(text))
      .sort((a, b) => a.far - b.far)
      .slice(0, max)
      .map(({ name }) => name)
  );
}

/** The number of letters that may differ in a word of this length. */
function maxDistance(text: string): number {
  return Math.max(2, text.length / 4);
}

/** The edit distance: how many letters must be changed, inserted or removed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

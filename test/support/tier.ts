/** Tier is how much of the suite runs: `npm test`, `npm run test:all` or `npm run test:long`. */
export type Tier = "fast" | "all" | "long";

/** tier is the one that the runner asks for. A file that `bun test` runs by itself has all its stories. */
export const tier: Tier = parseTier(process.env.TEST_TIER ?? "all");

/** timeFactor is how much more time stories and their waits have: the runner gives more to a story that it runs once more. */
export const timeFactor = Number(process.env.TEST_TIME_FACTOR ?? 1);

export function parseTier(name: string): Tier {
  if (name === "fast" || name === "all" || name === "long") return name;
  throw new Error(`TEST_TIER is "${name}"; it must be fast, all or long`);
}

/**
 * chosenFor picks what a story runs on, such as a database. The fast tier, or all of `choosing`, takes one of `choices` by the title, so
 * that a story always meets the same one and a folder meets them all; the other tiers take every one.
 */
export function chosenFor<T>(
  title: string,
  choices: readonly T[],
  choosing: readonly Tier[] = ["fast"],
): readonly T[] {
  if (!choosing.includes(tier)) return choices;
  const at = Bun.hash.crc32(title) % choices.length;
  return choices.slice(at, at + 1);
}

/** leftToAll returns `declare` for stories of a file in the fast tier that the fast tier leaves to `test:all`. */
export function leftToAll<A extends readonly unknown[]>(declare: (...story: A) => void): typeof declare {
  return tier === "fast" ? () => {} : declare;
}

/**
 * scaled is the title of a story that does less in the fast tier. There it says so, and so `npm run test:all -- --after-fast` does not take
 * it for the whole.
 */
export function scaled(title: string): string {
  return tier === "fast" ? `${title}, on a small scale` : title;
}

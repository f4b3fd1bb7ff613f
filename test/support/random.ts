/** Returns numbers from 0 to 1: the same for the same `CRASH_SEED`, which is printed so that a failure can be repeated. */
export function randomFrom(title: string): () => number {
  return seededRandom(title, "CRASH_SEED").random;
}

/** The same with a seed from another variable of the environment. */
export function seededRandom(title: string, variable: string): { random: () => number; seed: number } {
  const seed = Number(process.env[variable]) || Math.floor(Math.random() * 2 ** 31);
  let state = seed;
  console.log(`${title}: ${variable}=${seed}`);
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { random, seed };
}

/** How many kills were asked for. Few are enough where `kill-points.test.ts` kills at every point. */
const crashKills = Number(process.env.CRASH_KILLS) || 10;

/** Returns how many times a story kills at random moments: a fifth of `often`, and ten times `often` with `CRASH_KILLS=500`. */
export function killsOf(often: number): number {
  return Math.max(2, Math.round((often * crashKills) / 50));
}

/** Whether there are so many kills that some of them must have struck in the middle of something. */
export const hasManyKills = crashKills >= 50;

/** Returns how many times clients of a story race: `inTests` in `npm test`, and `TEST_ROUNDS` times as many if that is set. */
export function roundsOf(inTests: number): number {
  return inTests * (Number(process.env.TEST_ROUNDS) || 1);
}

/** The limit of a story with kills or rounds: each takes a start of the server; half an hour where more of them were asked for. */
export const repeatedTimeoutMs = process.env.CRASH_KILLS || process.env.TEST_ROUNDS ? 1_800_000 : 60_000;

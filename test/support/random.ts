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

/** Returns how many times a story kills: `inTests` in `npm test`, and ten times that with `CRASH_KILLS=500`. */
export function killsOf(inTests: number): number {
  return Math.round((inTests * (Number(process.env.CRASH_KILLS) || 50)) / 50);
}

/** Returns how many times clients of a story race: `inTests` in `npm test`, and `TEST_ROUNDS` times as many if that is set. */
export function roundsOf(inTests: number): number {
  return inTests * (Number(process.env.TEST_ROUNDS) || 1);
}

import { expect } from "bun:test";
import { patienceMs } from "./slowness.ts";

/** Each question to a page costs processor time in three processes. */
const pauseMs = 40;

/** eventually asks until the answer is true, for what a page's locators cannot wait for, and fails when its patience ends. */
export async function eventually(what: string, ask: () => unknown): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while ((await ask()) !== true) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await Bun.sleep(pauseMs);
  }
}

/**
 * becomes asks until the answer equals `expected`, which may contain matchers, and fails like `expect` does. Use it
 * for what an action changes: an answer right after it may still be the old one.
 */
export async function becomes(ask: () => unknown, expected: unknown): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    try {
      return expect(answer).toEqual(expected);
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await Bun.sleep(pauseMs);
  }
}

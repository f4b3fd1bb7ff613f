import { test as declare } from "bun:test";
import { timeFactor } from "./tier.ts";

let current: symbol | undefined;
let failures = 0;

/**
 * test declares a story as that of `bun:test` does, and counts it among the failures if it fails or is still running when the next
 * one begins, because its time was over.
 */
export function test(title: string, story: () => unknown, timeoutMs?: number): void {
  const body = async () => {
    if (current !== undefined) failures += 1;
    const own = Symbol(title);
    current = own;
    try {
      await story();
    } catch (error) {
      failures += 1;
      throw error;
    } finally {
      if (current === own) current = undefined;
    }
  };
  declare(title, body, timeoutMs === undefined ? undefined : timeoutMs * timeFactor);
}

/** failedStories returns how many stories of this process have failed so far. */
export function failedStories(): number {
  return failures;
}

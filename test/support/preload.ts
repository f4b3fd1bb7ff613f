import * as tests from "bun:test";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { closeShared } from "./test-run.ts";

/** Hooks of a preloaded file run after the last file of a `bun test`, and after every file of a worker (`--parallel`). */
tests.afterAll(closeShared);

/** The stories that `npm run test:all -- --after-fast` leaves out, each as its file and title. */
const proven =
  process.env.TEST_PROVEN === undefined
    ? undefined
    : new Set(readFileSync(process.env.TEST_PROVEN, "utf8").split("\n"));

type Declare = (title: string, ...rest: never[]) => unknown;

/** Files that have declared a story which is not left out. Only their hooks run (`beforeAll`, `afterAll`). */
const needed = new Set<string>();

/** Declares a story with `declare`, unless it is left out. */
function unlessProven(declare: Declare): Declare {
  return (title, ...rest) => {
    if (proven?.has(`${relative(process.cwd(), Bun.main)}\t${title}`)) return;
    needed.add(Bun.main);
    declare(title, ...rest);
  };
}

if (proven !== undefined) {
  const { test, beforeAll, afterAll } = { ...tests };
  const declare = Object.assign(unlessProven(test as Declare), {
    concurrent: unlessProven((...story) => test.concurrent(...(story as unknown as Parameters<typeof test>))),
    if: (isOn: boolean) => unlessProven(test.if(isOn) as Declare),
    skipIf: (isOff: boolean) => unlessProven(test.skipIf(isOff) as Declare),
    // The titles of a table are made later. Such stories are run again.
    each: (...table: Parameters<typeof test.each>) => {
      needed.add(Bun.main);
      return test.each(...table);
    },
  });
  const ifNeeded =
    (declareHook: typeof beforeAll) =>
    (hook: () => unknown, ...rest: [number?]) =>
      declareHook(() => (needed.has(Bun.main) ? (hook() as Promise<void>) : undefined), ...rest);
  const hooks = { beforeAll: ifNeeded(beforeAll), afterAll: ifNeeded(afterAll) };
  tests.mock.module("bun:test", () => ({ ...tests, test: declare, ...hooks }));
}

import { expect, test } from "bun:test";
import { FailedPasswords } from "../../src/auth/failure-limiter.ts";
import {
  hashPassword,
  maxWaitingChecks,
  maxWaitingChecksPerAddress,
  Passwords,
} from "../../src/auth/passwords.ts";
import { systemClock } from "../../src/base/clock.ts";
import { lowPasswordCost } from "../support/node.ts";
import { until } from "../support/until.ts";

// Which check runs when is decided before any is made, so a cheap one will do.
const hash = await hashPassword("right", lowPasswordCost);

function client(address: string) {
  const quitting = new AbortController();
  let waitsWithoutSlot = 0;
  return {
    quit: () => quitting.abort(),
    /** How often it waited without its slot. */
    waitsWithoutSlot: () => waitsWithoutSlot,
    peer: {
      address,
      disconnected: quitting.signal,
      withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
        waitsWithoutSlot += 1;
        return wait();
      },
    },
  };
}

/** The outcome in a word. */
async function check(passwords: Passwords, name: string, proof: string, from = client("a")) {
  try {
    return (await passwords.matches({ name, proof }, hash, from.peer)) ? "right" : "wrong";
  } catch (error) {
    return error instanceof Error ? error.message.split(":")[0] : String(error);
  }
}

test("one address may have so many checks waiting, all together so many; the next are told to come back", async () => {
  const passwords = new Passwords(systemClock);
  const flood = (address: string, count: number) =>
    Array.from({ length: count }, (_, at) => check(passwords, `${address} ${at}`, "wrong", client(address)));
  // Two run, the rest wait.
  const first = flood("a", 2 + maxWaitingChecksPerAddress + 5);
  const others = Array.from({ length: 5 }, (_, at) => flood(`b${at}`, maxWaitingChecksPerAddress)).flat();
  const outcomes = await Promise.all([...first, ...others]);
  const count = (wanted: string) => outcomes.filter((outcome) => outcome === wanted).length;
  expect([count("wrong"), count("wrong") + count("Server is busy")]).toEqual([
    2 + maxWaitingChecks,
    outcomes.length,
  ]);
  expect(await check(passwords, "u", "right")).toBe("right");
});

test("a crowd of addresses that fills the queue makes room for one that has nothing waiting", async () => {
  const passwords = new Passwords(systemClock);
  const crowd = Array.from({ length: maxWaitingChecks + 2 }, (_, at) =>
    check(passwords, `guess ${at}`, "wrong", client(`crowd ${at % 5}`)),
  );
  const mine = check(passwords, "me", "right", client("mine"));
  const outcomes = await Promise.all(crowd);
  expect(await mine).toBe("right");
  expect(outcomes.filter((outcome) => outcome === "Server is busy")).toHaveLength(1);
});

test("the same question asked many times at once is one check", async () => {
  const passwords = new Passwords(systemClock);
  const asked = Array.from({ length: 500 }, () => client("a"));
  const outcomes = await Promise.all(asked.map((one) => check(passwords, "u", "right", one)));
  expect(new Set(outcomes)).toEqual(new Set(["right"]));
  expect(asked.filter(({ waitsWithoutSlot }) => waitsWithoutSlot() > 0)).toHaveLength(1);
});

test("a check whose client leaves is not made, and who asked the same goes on without it", async () => {
  const passwords = new Passwords(systemClock);
  const busy = ["x", "y"].map((name) => check(passwords, name, "wrong"));
  const [leaving, staying] = [client("a"), client("a")];
  const [left, stayed] = [check(passwords, "u", "right", leaving), check(passwords, "u", "right", staying)];
  await until("the first one waits", () => leaving.waitsWithoutSlot() === 1);
  leaving.quit();
  expect([await left, await stayed]).toEqual(["Other", "right"]);
  expect(staying.waitsWithoutSlot()).toBe(1);
  expect(await Promise.all(busy)).toEqual(["wrong", "wrong"]);
  // Every turn was given back.
  const more = Array.from({ length: 4 }, (_, at) => check(passwords, `n${at}`, "wrong"));
  expect(await Promise.all(more)).toEqual(["wrong", "wrong", "wrong", "wrong"]);
});

test("a batch gets one failed check per name, unless the password was changed in between, and four names", () => {
  const failed = new FailedPasswords();
  expect(failed.has("u", "old")).toBe(false);
  failed.add("u", "old");
  expect([failed.has("u", "old"), failed.has("u", "new"), failed.has("v", null)]).toEqual([
    true,
    false,
    false,
  ]);
  for (const name of ["v", "w", "x"]) failed.add(name, null);
  expect(failed.has("y", "hash")).toBe(true);
});

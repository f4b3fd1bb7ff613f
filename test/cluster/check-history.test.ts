import { expect, test } from "bun:test";
import { checkHistory } from "../support/cluster/check-history.ts";
import { absent, type History, type Operation, type Outcome } from "../support/cluster/history.ts";

const timed = (begin: number, end: number, node = 0) => ({ node, begin, end, note: "" });
const write = (parent: string, child: string, [begin, end]: [number, number], outcome: Outcome = "done") =>
  ({ kind: "write", subject: "file", parent, child, outcome, ...timed(begin, end) }) as const;
const read = (saw: string, [begin, end]: [number, number], { leased = false, node = 0 } = {}) =>
  ({ kind: "read", subject: "file", isStrict: !leased, saw, ...timed(begin, end, node) }) as const;
const hold = ([begin, end]: [number, number], releasedAt: number, timeoutMs = 10_000) =>
  ({ kind: "hold", subject: "file", releasedAt, timeoutMs, ...timed(begin, end) }) as const;

function rulesOf(operations: readonly Operation[], more: Partial<History> = {}): string[] {
  const history = { operations, outages: [], listeners: [], deadlineMs: 20_000, staleMs: 60_000, ...more };
  return checkHistory(history).map(({ rule }) => rule);
}

const chain = [write(absent, "a", [0, 1]), write("a", "b", [2, 3]), write("b", "c", [4, 5])];

test("a history in which every read shows the newest state has no violation", () => {
  expect(rulesOf([...chain, read("a", [1, 2]), read("b", [3, 4]), read("c", [6, 7])])).toEqual([]);
  // A read beside a write may see the state before it or after it.
  expect(rulesOf([...chain, read("b", [4, 6]), read("c", [4, 6])])).toEqual([]);
});

test("two writes that replaced the same state are a lost write, also if one was only seen", () => {
  expect(rulesOf([...chain, write("a", "x", [2, 4])])).toEqual(["lost write"]);
  const unanswered = write("a", "x", [2, 4], "maybe");
  expect(rulesOf([...chain, unanswered])).toEqual([]);
  expect(rulesOf([...chain, unanswered, read("x", [2, 3])])).toContain("lost write");
});

test("two creations without a removal in between are a lost write", () => {
  const [first, second] = [write(absent, "a", [0, 1]), write(absent, "b", [0, 2])];
  expect(rulesOf([first, second])).toEqual(["lost write"]);
  expect(rulesOf([first, second, write("a", absent, [0.5, 3], "maybe")])).toEqual([]);
  expect(rulesOf([first, write(absent, "b", [0, 2], "refused")])).toEqual([]);
});

test("a body that nobody wrote, or whose write was refused or had not begun, is found", () => {
  expect(rulesOf([...chain, read("z", [6, 7])])).toEqual(["body"]);
  expect(rulesOf([...chain, write("c", "d", [6, 7], "refused"), read("d", [8, 9])])).toEqual(["body"]);
  expect(rulesOf([...chain, write("c", "d", [8, 9]), read("d", [6, 7])])).toEqual(["body"]);
  expect(rulesOf([...chain, { ...read("c", [6, 7]), broken: "torn" }])).toEqual(["broken answer"]);
  expect(rulesOf([...chain, { ...read("c", [6, 7]), broken: "seen at 2 places" }])).toEqual(["moved folder"]);
});

test("a strict read must show what was answered, or seen by another strict read, before it began", () => {
  expect(rulesOf([...chain, read("b", [6, 7])])).toEqual(["stale read"]);
  const unanswered = write("c", "d", [6, 100], "maybe");
  expect(rulesOf([...chain, unanswered, read("c", [10, 11])])).toEqual([]);
  expect(rulesOf([...chain, unanswered, read("d", [8, 9]), read("c", [10, 11])])).toEqual(["stale read"]);
  // A write that replaced it proves a write whose answer was lost.
  const next = write("d", "e", [7, 8]);
  expect(rulesOf([...chain, unanswered, next, read("c", [10, 11])])).toEqual(["stale read"]);
});

test("what one listing shows was all true at one moment", () => {
  const other = { ...write(absent, "z", [8, 9]), subject: "other" };
  const listed = (saw: string) => [
    { ...read(saw, [3, 10]), listing: "one" },
    { ...read("z", [3, 10]), subject: "other", listing: "one" },
  ];
  expect(rulesOf([...chain, other, ...listed("c")])).toEqual([]);
  // Each of them could be true alone: `c` replaced `b` while the listing was made, but before the other file was written.
  expect(rulesOf([...chain, other, ...listed("b")])).toEqual(["stale read"]);
  expect(rulesOf([...chain, other, ...listed("b").map((one) => ({ ...one, listing: one.subject }))])).toEqual(
    [],
  );
});

test("a removed file stays removed, and a created one is there", () => {
  const removed = [...chain, write("c", absent, [6, 7])];
  expect(rulesOf([...removed, read(absent, [8, 9]), read("c", [6, 8])])).toEqual([]);
  expect(rulesOf([...removed, read("c", [8, 9])])).toEqual(["stale read"]);
  expect(rulesOf([...chain, read(absent, [6, 7])])).toEqual(["stale read"]);
  expect(rulesOf([...removed, write(absent, "x", [8, 9]), read(absent, [10, 11])])).toEqual(["stale read"]);
});

test("a leased read may be a second old, and older while its node has no database", () => {
  const leased = { leased: true };
  expect(rulesOf([...chain, read("b", [1000, 1001], leased)])).toEqual([]);
  expect(rulesOf([...chain, read("b", [1006, 1007], leased)])).toEqual(["stale read"]);
  const outages = [
    { node: 0, begin: 500, end: 4000 },
    { node: 0, begin: 4500, end: 9000 },
  ];
  expect(rulesOf([...chain, read("b", [9900, 9901], leased)], { outages })).toEqual([]);
  expect(rulesOf([...chain, read("b", [9900, 9901], { leased: true, node: 1 })], { outages })).toEqual([
    "stale read",
  ]);
  expect(rulesOf([...chain, read("b", [9900, 9901], leased)], { outages, staleMs: 5000 })).toEqual([
    "stale read",
  ]);
  expect(rulesOf([...chain, read("b", [9900, 9901])], { outages })).toEqual(["stale read"]);
});

test("in an outage a node goes on with what was true when it last answered the path", () => {
  const later = [...chain, write("c", "d", [2000, 2001])];
  const outages = [{ node: 1, begin: 3001, end: 9000 }];
  const stale = read("c", [3100, 3101], { leased: true, node: 1 });
  const asked = (at: number) => read("c", [at, at + 1], { leased: true, node: 1 });
  expect(rulesOf([...later, asked(900), stale], { outages })).toEqual([]);
  expect(rulesOf([...later, asked(2999), stale], { outages })).toEqual([]);
  // It answered the path when the write was a second old, and so it knows of the write.
  const fresh = read("d", [3002, 3003], { leased: true, node: 1 });
  expect(rulesOf([...later, fresh, stale], { outages: [{ node: 1, begin: 3050, end: 9000 }] })).toEqual([
    "stale read",
  ]);
});

test("a leased read may be older while PostgreSQL keeps strict reads of its node waiting for 200 ms", () => {
  const stale = read("b", [1500, 1501], { leased: true });
  const strict = (end: number, node = 0) => read("c", [900, end], { node });
  expect(rulesOf([...chain, stale, strict(1100)])).toEqual([]);
  expect(rulesOf([...chain, stale, strict(1099)])).toEqual(["stale read"]);
  expect(rulesOf([...chain, stale, strict(1100, 1)])).toEqual(["stale read"]);
});

test("two locks at a time, and a change without the token of a lock, are found", () => {
  expect(rulesOf([hold([0, 1], 10), hold([9, 11], 20)])).toEqual([]);
  expect(rulesOf([hold([0, 1], 10), hold([2, 3], 20)])).toEqual(["lock"]);
  expect(rulesOf([hold([0, 3], 10), hold([0, 4], 20)])).toEqual(["lock"]);
  expect(rulesOf([hold([0, 1], 9000, 3000), hold([3001, 3002], 9000)])).toEqual([]);
  const intrusion = { kind: "intrusion", subject: "file", ...timed(2, 5) } as const;
  expect(rulesOf([hold([0, 1], 10), intrusion])).toEqual(["lock"]);
  expect(rulesOf([hold([0, 1], 4), intrusion])).toEqual([]);
});

test("a token that is accepted a second after its revocation is found, unless its node had no database", () => {
  const revocation = { kind: "revocation", subject: "token", ...timed(0, 100) } as const;
  const use = (at: number) => ({ kind: "use", subject: "token", ...timed(at, at + 1) }) as const;
  expect(rulesOf([use(5), revocation, use(1099)])).toEqual([]);
  expect(rulesOf([revocation, use(1101)])).toEqual(["revocation"]);
  expect(rulesOf([revocation, use(1101)], { outages: [{ node: 0, begin: 50, end: 900 }] })).toEqual([]);
  expect(rulesOf([use(5)])).toEqual([]);
});

test("an answer that takes too long is found", () => {
  expect(rulesOf([{ kind: "other", ...timed(0, 20_001) }])).toEqual(["late answer"]);
});

test("a change that was answered is told to each listener, or covered by a later reset", () => {
  const change = (subject: string, [begin, end]: [number, number], outcome: Outcome = "done") =>
    ({ kind: "change", subject, outcome, ...timed(begin, end) }) as const;
  const told = (listener: string, subject: string, at: number) =>
    ({ kind: "told", listener, subject, ...timed(at, at) }) as const;
  const listeners = ["one", "two"];
  const rules = (...operations: Operation[]) => rulesOf(operations, { listeners });
  const changes = [change("a", [0, 1]), change("b", [5, 6], "maybe"), change("c", [7, 8], "refused")];
  expect(rules(...changes)).toEqual(["untold", "untold"]);
  expect(rules(...changes, told("one", "a", 0.5))).toEqual(["untold"]);
  expect(rules(...changes, told("one", "a", 9), told("two", "a", 2))).toEqual([]);
  expect(rules(...changes, told("one", "a", 9), told("two", "", 0.5))).toEqual([]);
  expect(rules(...changes, change("d", [3, 4]), told("one", "", 9), told("two", "", 2))).toEqual(["untold"]);
});

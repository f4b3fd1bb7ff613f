import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  consoleUrl,
  type DiffLine,
  diffLines,
  hasSecrets,
  hideSecrets,
  parseListener,
  withContext,
} from "../../src/console/pages/config/model.ts";
import "./texts.ts";

const text = fc
  .array(fc.constantFrom("a", "b", "c", "", "d = 1"), { maxLength: 12 })
  .map((lines) => lines.join("\n"));

function side(diff: readonly DiffLine[], left: DiffLine["kind"]): string {
  return diff
    .filter(({ kind }) => kind !== left)
    .map((line) => line.text)
    .join("\n");
}

test("a difference holds both texts, whole and in order", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = diffLines(before, after);
      expect(side(diff, "added")).toBe(before);
      expect(side(diff, "removed")).toBe(after);
    }),
  );
});

test("no line is shown as changed that need not be", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const same = diffLines(before, after).filter(({ kind }) => kind === "same").length;
      expect(same).toBe(longestCommon(before.split("\n"), after.split("\n")));
    }),
  );
});

/** Longest common subsequence by its definition, without a table. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const known = new Map<string, number>();
  const at = (i: number, j: number): number => {
    if (i === a.length || j === b.length) return 0;
    const key = `${i} ${j}`;
    const found =
      known.get(key) ?? (a[i] === b[j] ? 1 + at(i + 1, j + 1) : Math.max(at(i + 1, j), at(i, j + 1)));
    known.set(key, found);
    return found;
  };
  return at(0, 0);
}

test("around a change a few equal lines are shown, and the others are counted", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const all = diffLines(before, after);
      const parts = withContext(all, 1);
      const lines = parts.reduce<number>((sum, part) => sum + (typeof part === "number" ? part : 1), 0);
      expect(lines).toBe(all.length);
      const changed = (list: readonly unknown[]) => list.filter((line) => (line as DiffLine).kind !== "same");
      expect(changed(parts.filter((part) => typeof part !== "number"))).toEqual(changed(all));
    }),
  );
  expect(withContext(diffLines("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\nx\n6"), 1)).toEqual([
    3,
    { kind: "same", text: "4" },
    { kind: "removed", text: "5" },
    { kind: "added", text: "x" },
    { kind: "same", text: "6" },
  ]);
});

test("a text of any length is compared", () => {
  const lines = (word: string) => Array.from({ length: 5000 }, (_, at) => `${word} ${at}`).join("\n");
  expect(diffLines(lines("a"), lines("b"))).toHaveLength(10_000);
});

test("the password in a database's address is hidden, and nothing else is", () => {
  expect(hideSecrets('database_url = "postgres://me:s3:cret@host:5432/db"')).toBe(
    'database_url = "postgres://me:••••••@host:5432/db"',
  );
  expect(hideSecrets("postgres://me:with@sign@host/db")).toBe("postgres://me:••••••@host/db");
  expect(hideSecrets("postgres://host/db?user=me&password=s3cret&x=1")).toBe(
    "postgres://host/db?user=me&password=••••••&x=1",
  );
  for (const plain of [
    "sqlite://data/node.db?mode=rwc",
    'ws_listener = "127.0.0.1:2211"',
    'release_url = "https://host:80/a"',
  ])
    expect([hasSecrets(plain), hideSecrets(plain)]).toEqual([false, plain]);
});

test("the console is looked for where the configuration says that the server listens", () => {
  const at = (toml: string) => {
    const listener = parseListener(toml);
    return listener && consoleUrl(listener, "node.example.com");
  };
  expect(at('ws_listener = "127.0.0.1:2211"')).toBe("http://127.0.0.1:2211/node/console/");
  expect(at("a = 1\nws_listener='0.0.0.0:80' # all\ntls_cert = \"x\"\n")).toBe(
    "https://node.example.com:80/node/console/",
  );
  expect(at('ws_listener = "[::1]:9"\n[logging]\ntls_cert = "x"')).toBe("http://[::1]:9/node/console/");
  expect(at('ws_listener = "127.0.0.1:0"')).toBeUndefined();
  expect(at('# ws_listener = "127.0.0.1:1"\n[a]\nws_listener = "1.1.1.1:1"')).toBeUndefined();
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import { tokenLimit } from "../../src/auth/limit-schema.ts";
import type { Limit, Permission, Scope } from "../../src/client/index.ts";
import { limitsProblem, limitWords } from "../../src/console/pages/tokens/limits.ts";
import { families, otherFamilies } from "../../src/console/pages/tokens/permissions.ts";
import { scopeView, toScope } from "../../src/console/pages/tokens/scopes.ts";
import { newPassword } from "../../src/console/pages/tokens/sign-in-words.ts";
import { validityOf } from "../../src/console/pages/tokens/validity.ts";

const named = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes("\0"));
const scope = fc.oneof(
  fc.constantFrom<Scope>("global", { global: null }),
  fc
    .tuple(
      fc.constantFrom(
        "static_bucket",
        "global_static_bucket",
        "agent_uuid",
        "kv_namespace",
        "js_worker",
        "db",
      ),
      named,
    )
    .map(
      ([kind, name]) =>
        ({
          [kind]: kind.includes("bucket") || kind === "db" ? name.replaceAll(/\*(?=.)/gs, "") || "x" : name,
        }) as Scope,
    ),
);
const permission = fc.oneof(
  fc.constantFrom(...families.flatMap(({ actions }) => actions.map((action) => action.permission))),
  fc
    .tuple(
      fc.constantFrom(...otherFamilies),
      fc.oneof(
        named,
        fc.tuple(named, named).map(([a, b]) => ({ [a]: b })),
      ),
    )
    .map(([family, what]) => ({ [family]: what }) as Permission),
);
const limit: fc.Arbitrary<Limit> = fc.record({
  scopes: fc.array(scope, { maxLength: 3 }),
  permissions: fc.array(permission, { maxLength: 4 }),
});

test("the console takes every limit that the server takes, and can say it in words", () => {
  fc.assert(
    fc.property(fc.array(limit, { maxLength: 4 }), (limits) => {
      expect(tokenLimit.safeParse(limits).success).toBe(true);
      expect(limitsProblem(limits)).toBeUndefined();
      expect(limitWords(limits).every((line) => line !== "")).toBe(true);
    }),
  );
});

test("what the server would refuse, the console refuses first", () => {
  const wrong: unknown[] = [
    {},
    [null],
    [{ scopes: [] }],
    [{ scopes: ["everywhere"], permissions: [] }],
    [{ scopes: [{ static_bucket: "" }], permissions: [] }],
    [{ scopes: [{ static_bucket: "x**" }], permissions: [] }],
    [{ scopes: [{ db: "*x" }], permissions: [] }],
    [{ scopes: [{ static_bucket: "a", db: "b" }], permissions: [] }],
    [{ scopes: [], permissions: [{ static_bucket_file: "all" }] }],
    [{ scopes: [], permissions: ["read"] }],
    [{ scopes: [], permissions: [{ kv: {} }] }],
    [{ scopes: [], permissions: [{ unknown: "read" }] }],
  ];
  for (const limits of wrong) {
    expect(tokenLimit.safeParse(limits).success).toBe(false);
    expect(limitsProblem(limits as Limit[])).toBeString();
  }
});

test("a scope comes back from the form as it was", () => {
  fc.assert(
    fc.property(scope, (one) => {
      const view = scopeView(one);
      expect(view === undefined ? undefined : scopeView(toScope(view))).toEqual(view);
    }),
  );
});

test("limits are said in words that a person understands", () => {
  const read: Permission = { static_bucket_file: "read" };
  expect(limitWords([])).toEqual(["Nothing."]);
  expect(limitWords("broken")).toEqual(["Limits that this console cannot read."]);
  expect(
    limitWords([
      { scopes: [{ static_bucket: "img-*" }], permissions: [read] },
      {
        scopes: [{ static_bucket: "*" }, { db: "m" }],
        permissions: [{ db: "read" }, { task: { run: "n*" } }],
      },
      { scopes: ["global"], permissions: [] },
    ]),
  ).toEqual([
    "Files: read, in every bucket that begins with img-",
    "Databases: read; task: run (n*), in every bucket and in database m",
  ]);
});

test("the time of a token is told as it looks from now", () => {
  const now = Date.UTC(2026, 0, 1);
  const day = 86_400_000;
  const at = (timestamp_from: number | null, timestamp_to: number | null) =>
    validityOf({ timestamp_from, timestamp_to }, now);
  expect(at(null, null)).toEqual({ state: "valid", words: "does not expire" });
  expect(at(null, now + 3 * day)).toMatchObject({
    state: "valid",
    words: expect.stringMatching(/^expires in 3 days, on /),
  });
  expect(at(null, now).state).toBe("expired");
  expect(at(now + 1, now + day).state).toBe("early");
});

test("made-up passwords are long, and never the same", () => {
  const made = Array.from({ length: 50 }, newPassword);
  expect(new Set(made).size).toBe(50);
  for (const password of made) expect(password).toMatch(/^[A-Za-z2-9]{20}$/);
});

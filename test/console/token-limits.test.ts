import "./texts.ts";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { tokenLimit } from "../../src/auth/limit.ts";
import { type Limit, otherPermissionFamilies, type Permission, type Scope } from "../../src/client/index.ts";
import { generatePassword } from "../../src/console/pages/tokens/draft.ts";
import {
  families,
  limitSummary,
  limitsProblem,
  scopeView,
  toScope,
} from "../../src/console/pages/tokens/limits.ts";
import { validityOf } from "../../src/console/pages/tokens/model.ts";

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
      fc.constantFrom(...otherPermissionFamilies),
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
      expect(limitSummary(limits).every((line) => line !== "")).toBe(true);
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

test("limits are summarised in plain sentences", () => {
  const read: Permission = { static_bucket_file: "read" };
  expect(limitSummary([])).toEqual(["Nothing."]);
  expect(limitSummary("broken")).toEqual(["Limits that this console cannot read."]);
  expect(
    limitSummary([
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

test("the validity of a token is shown relative to now", () => {
  const now = Date.UTC(2026, 0, 1);
  const day = 86_400_000;
  const at = (timestamp_from: number | null, timestamp_to: number | null) =>
    validityOf({ timestamp_from, timestamp_to }, now);
  expect(at(null, null)).toEqual({ state: "valid", text: "never expires", short: "never" });
  expect(at(null, now + 3 * day)).toMatchObject({
    state: "valid",
    text: expect.stringMatching(/^expires in 3 days, on /),
    short: "in 3 days",
  });
  expect(at(null, now).state).toBe("expired");
  expect(at(now + 1, now + day).state).toBe("early");
});

test("generated passwords are long and never repeat", () => {
  const passwords = Array.from({ length: 50 }, generatePassword);
  expect(new Set(passwords).size).toBe(50);
  for (const password of passwords) expect(password).toMatch(/^[A-Za-z2-9]{20}$/);
});

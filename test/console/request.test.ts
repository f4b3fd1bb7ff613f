import { expect, test } from "bun:test";
import fc from "fast-check";
import { curlLine, maskedRequest, parseEntries, toParam } from "../../src/console/pages/explorer/model.ts";
import "./texts.ts";

const token = toParam({ name: "token", required: true, schema: { type: "string" }, "x-credential": true });
const name = toParam({ name: "name", required: true, schema: { type: "string" } });

/** Arguments that a shell passes to curl. */
function argumentsOf(line: string, env: Record<string, string>): string[] {
  const { stdout } = Bun.spawnSync(["sh", "-c", `curl() { printf '%s\\0' "$@"; }; ${line}`], { env });
  return stdout.toString().split("\0").slice(0, -1);
}

test("whatever is typed, a shell hands curl just the request, with the token from its variable", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom(
      "'",
      "''; rm -rf /",
      "$(id)",
      "`id`",
      "$TOKEN",
      "!!",
      "\\",
      '"',
      "\n'\n",
      "-d @/etc/passwd",
    ),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      const { line, variables } = curlLine("http://here:1", "a_b", [token, name], { name: text });
      expect(variables).toEqual(["TOKEN"]);
      const args = argumentsOf(line, { TOKEN: "key:secret" });
      expect(args.slice(0, -1)).toEqual([
        "-sS",
        "http://here:1/jsonrpc",
        "-H",
        "content-type: application/json",
        "--data-raw",
      ]);
      expect(JSON.parse(args.at(-1) ?? "")).toEqual({
        jsonrpc: "2.0",
        id: 1,
        method: "a_b",
        params: { token: "key:secret", name: text },
      });
    }),
    { numRuns: 60 },
  );
});

test("secrets are neither in the request on the screen nor in the line for the shell", () => {
  const declared = [
    token,
    toParam({ name: "new_password", required: true, schema: { type: "string", writeOnly: true } }),
  ];
  const params = { token: "typed:secret", new_password: "hunter22" };
  const shown = JSON.stringify(maskedRequest("token_change_password", declared, params));
  const { line, variables } = curlLine("http://here", "token_change_password", declared, params);
  expect(shown + line).not.toMatch(/secret|hunter22/);
  expect(variables).toEqual(["TOKEN", "NEW_PASSWORD"]);
});

test("a form sends what was typed, in its type, and leaves out what was not", () => {
  const declared = [
    token,
    toParam({ name: "size", required: false, schema: { type: "integer" } }),
    toParam({ name: "cors", required: false, schema: { type: ["boolean", "null"] } }),
    toParam({ name: "kind", required: false, schema: { enum: ["a", "b"] } }),
    toParam({ name: "path", required: false, schema: { anyOf: [{ type: "string" }, { type: "null" }] } }),
    toParam({ name: "limit", required: true, schema: {} }),
  ];
  const typed = (text: string) => ({ text, isNull: false });
  expect(declared.map(({ kind, nullable }) => [kind, nullable])).toEqual([
    ["text", false],
    ["integer", false],
    ["boolean", true],
    ["choice", false],
    ["text", true],
    ["json", false],
  ]);
  expect(parseEntries(declared, {})).toEqual({
    params: {},
    problems: { limit: expect.stringMatching(/JSON/) },
  });
  expect(
    parseEntries(declared, {
      size: typed("12"),
      cors: typed("false"),
      kind: typed("b"),
      path: { text: "ignored", isNull: true },
      limit: typed('[{"a": 1}]'),
    }),
  ).toEqual({ params: { size: 12, cors: false, kind: "b", path: null, limit: [{ a: 1 }] }, problems: {} });
  const wrong = { size: typed("1.5"), cors: typed("maybe"), kind: typed("c"), limit: typed("{") };
  expect(Object.keys(parseEntries(declared, wrong).problems)).toEqual(["size", "cors", "kind", "limit"]);
  expect(
    parseEntries(declared, { size: typed("9007199254740993"), limit: typed("1") }).problems,
  ).toHaveProperty("size");
});

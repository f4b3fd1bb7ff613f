import { expect } from "bun:test";
import { methods } from "../../src/methods/index.ts";
import { eachDatabase, testNode, type WireReply } from "../support/node.ts";
import { scaled, tier } from "../support/tier.ts";

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** JSON texts that are legal and that code written for the usual values stumbles over. */
const awkward = {
  "an integer beyond a double": "12345678901234567890",
  "one inside an array": "[12345678901234567890]",
  "one inside an object": '[{"a":[12345678901234567890]}]',
  "a number beyond every double": '[1e400,{"id":1e400}]',
  "a length that is no number": '{"length":{"toString":1,"valueOf":1}}',
  "names that every object inherits":
    '{"__proto__":{"x":1},"constructor":{"prototype":1},"toString":1,"then":1}',
  "a list of them": '[{"__proto__":null,"toJSON":1,"hasOwnProperty":1,"valueOf":1}]',
  "half a character": '"\\ud800"',
  "the character zero": '"\\u0000"',
  "a long text": `"${"x".repeat(9000)}"`,
  "an empty text": '""',
  "deep nesting": nested(20_000),
  "deep nesting inside a list": `[${nested(20_000)},12345678901234567890]`,
  "deep nesting with a number beyond a double": `[${nested(2000)},12345678901234567890]`,
};

/** awkwardFor returns the values for one of the params. In the fast tier three params share them, so that each value is still tried often. */
function awkwardFor(turn: number): ReadonlyArray<readonly [string, string]> {
  const all = Object.entries(awkward);
  return tier === "fast" ? all.filter((_, at) => at % 3 === turn % 3) : all;
}

eachDatabase(scaled("no awkward value of any param of any method is a bug"), async (database) => {
  await using node = await testNode({ database, logging: 'memory_log_filter = "error"' });
  await using socket = await node.socket();
  const token = JSON.stringify(node.superToken);
  const fitting: Readonly<Record<string, string>> = {
    token,
    father_token: token,
    supertoken: token,
    token_creation: '{"token_limit":[]}',
    limit: "[]",
    log_filter: '"off"',
    sql: '"SELECT 1"',
    params: "[]",
  };
  const bugs: string[] = [];
  let turn = 0;
  for (const [method, { names }] of Object.entries(methods)) {
    for (const odd of names) {
      turn += 1;
      for (const [what, value] of awkwardFor(turn)) {
        const params = names.map(
          (name) => `"${name}":${name === odd ? value : (fitting[name] ?? '"xxxxxx"')}`,
        );
        socket.send(`{"jsonrpc":"2.0","method":"${method}","params":{${params}},"id":1}`);
        const { error } = (await socket.next()) as WireReply;
        if (error?.code !== -32603) continue;
        const entry = node.node.ring
          .entries()
          .find(({ fields }) => fields.reference === error.data.reference);
        bugs.push(`${method}, ${odd}: ${what}: ${entry?.message}`);
      }
    }
  }
  expect(bugs).toEqual([]);
});

import { expect, test } from "bun:test";
import { parseExactly, stringifyExactly } from "../../src/client/exact-json.ts";
import { testNode } from "../support/node.ts";
import { Consumer, eachRuntime } from "./consumer.ts";

eachRuntime("64-bit integers keep their digits, on the way there and back", async (runtime) => {
  await using node = await testNode();
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `
    const sql = "SELECT ? AS big, ? AS low, ? AS safe, 0.1 AS real, '9007199254740993' AS text";
    const params = [9007199254740993n, -9223372036854775808n, 9007199254740991];
    const { data: [row] } = await server.call("node-server_exec_sql", { sql, params });
    console.log(Object.values(row).map((value) => typeof value + " " + value).join(", "));
    const [answer] = await server.batch([["node-server_exec_sql", { sql: "SELECT 9007199254740993 AS n" }]]);
    console.log(answer.data[0].n === 9007199254740993n);
    const rounding = new client.NodeServerClient(server.url, { token: "${node.superToken}", integers: "number" });
    const rounded = await rounding.call("node-server_exec_sql", { sql: "SELECT 9007199254740993 AS n" });
    console.log(rounded.data[0].n === 9007199254740992);
    `,
    { url: node.url, token: node.superToken },
  );
  expect(lines).toEqual([
    "bigint 9007199254740993, bigint -9223372036854775808, number 9007199254740991, number 0.1, string 9007199254740993",
    "true",
    "true",
  ]);
});

test("only whole numbers that would be rounded become bigints, and texts stay as they are", () => {
  const value = {
    big: 12345678901234567890n,
    low: [-9007199254740993n, { deep: 2n ** 64n }],
    safe: Number.MAX_SAFE_INTEGER,
    real: 1234567890123456.5,
    huge: 1e300,
    text: 'digits 12345678901234567890, a "quote" and a \\',
    "12345678901234567890": null,
  };
  expect(parseExactly(stringifyExactly(value))).toEqual(value);
  expect(parseExactly('{"n":1e20,"zero":-0,"m":9007199254740992}')).toEqual({
    n: 1e20,
    zero: -0,
    m: 9007199254740992n,
  });
  expect(() => parseExactly("{12345678901234567890: 1}")).toThrow(SyntaxError);
  expect(() => parseExactly("[012345678901234567890]")).toThrow(SyntaxError);
});

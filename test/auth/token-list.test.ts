import { expect } from "bun:test";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

const mayRead = [{ static_bucket_file: "read" }];
const bound = 65_536;

/** Limits that take exactly so many bytes as JSON. */
function limitsOf(bytes: number): unknown[] {
  const length = Math.floor(bytes / 500);
  const scopes = Array.from({ length }, () => ({ static_bucket: "é".repeat(200) }));
  const limits = [{ scopes, permissions: mayRead }];
  let missing = bytes - Buffer.byteLength(JSON.stringify(limits));
  for (const scope of scopes) {
    const more = Math.min(300, missing);
    scope.static_bucket += "x".repeat(more);
    missing -= more;
  }
  expect(Buffer.byteLength(JSON.stringify(limits))).toBe(bytes);
  return limits;
}

eachDatabase(
  "the limits of a token have 64 KiB at the most, and larger ones that exist go on working",
  async (database) => {
    await using node = await testNode({ database });
    const { superToken: token } = node;
    const token_limit = limitsOf(bound);
    const fits = await node.newToken(token_limit);
    expect(await node.call("token_get", { token: fits })).toMatchObject({ token_limit });
    const [key = ""] = fits.split(":");
    const large = limitsOf(bound + 1);
    for (const [method, params] of [
      ["token_create", [token, { token_limit: large }]],
      ["token_edit", { token, target_token: key, limit: large }],
    ] as const) {
      const { code, data } = await node.refused(method, params);
      expect([method, code, data]).toEqual([
        method,
        108,
        {
          kind: "InvalidInput",
          field: "token_limit",
          bytes: bound + 1,
          limit: bound,
          detail: expect.any(String),
        },
      ]);
    }
    await node.sql(`UPDATE token SET token_limit = '${JSON.stringify(large)}' WHERE token_key = '${key}'`);
    expect(await node.call("token_get", { token: fits })).toMatchObject({ token_limit: large });
    const { secret } = (await node.call("token_roll_token_secret", { token, target_token: key })) as {
      secret: string;
    };
    expect(await node.call("token_get", { token: `${key}:${secret}` })).toMatchObject({ token_limit: large });
  },
);

/** Tokens past the server: `name 0` and so on, each with these limits. */
async function addTokens(node: TestNode, count: number, limits: unknown): Promise<void> {
  const json = JSON.stringify(limits);
  const values = Array.from({ length: count }, (_, at) => `('key ${at}', '', '${json}', 'name ${at}')`);
  await node.sql(`INSERT INTO token (token_key, token_hash, token_limit, username) VALUES ${values.join()}`);
}

eachDatabase("many tokens are listed whole, and other calls have their turn meanwhile", async (database) => {
  await using node = await testNode({ database });
  const limits = limitsOf(40_000);
  await addTokens(node, 350, limits);
  const names = ["root", ...Array.from({ length: 350 }, (_, at) => `name ${at}`)];
  const { tokens } = (await node.call("token_list_all_tokens", { token: node.superToken })) as {
    tokens: Array<{ username: string; token_limit: unknown }>;
  };
  expect(tokens.map(({ username }) => username)).toEqual(names);
  expect(tokens.at(-1)?.token_limit).toEqual(limits);

  const opened = await openDatabase(settingsFor(node.databaseUrl), new LogHub(), { create: false });
  const listed: Array<string | null> = [];
  let turns = 0;
  let isListing = true;
  const count = () => {
    turns += 1;
    if (isListing) setImmediate(count);
  };
  setImmediate(count);
  for await (const { username } of opened.tokens.list()) listed.push(username);
  isListing = false;
  await opened.close();
  expect(listed).toEqual(names);
  expect(turns).toBeGreaterThanOrEqual(3);
});

eachDatabase("a list of tokens that is too large says what to ask for instead", async (database) => {
  await using node = await testNode({ database, top: "max_response_body_size = 1000000\n" });
  await addTokens(node, 40, limitsOf(40_000));
  const { code, data } = await node.refused("token_list_all_tokens", { token: node.superToken });
  expect([code, data]).toEqual([
    -32008,
    { kind: "ResponseTooBig", limit: 1_000_000, detail: expect.any(String) },
  ]);
});

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

const logging = 'memory_log_filter = "trace"\nmemory_log_capacity = 100000\n';

interface Made {
  readonly key: string;
  readonly secret: string;
}

/** Everything that was logged so far. */
function logOf(node: TestNode): string {
  return node.node.ring
    .entries()
    .map((entry) => JSON.stringify(entry))
    .join("\n");
}

function expectNone(log: string, secrets: Record<string, string>): void {
  const leaked = Object.entries(secrets).filter(
    ([, secret]) => log.includes(secret) || log.includes(createHash("sha256").update(secret).digest("hex")),
  );
  expect(leaked.map(([name]) => name)).toEqual([]);
  expect(log).not.toContain("argon2");
}

eachDatabase(
  "no secret, password or hash is logged at any level while every token method works and fails",
  async (database) => {
    await using node = await testNode({ database, logging });
    const { superToken, rootPassword, call } = node;
    const passwords = { first: "pass:word|one", second: "second-password", guess: "guessed-password" };
    const limit = [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }];
    const made = (await call("token_create", [
      superToken,
      { token_limit: limit, username: "anna", password: passwords.first },
    ])) as Made;
    const token = `${made.key}:${made.secret}`;
    await call("token_get", { token });
    await call("token_get", { token: `anna|${passwords.first}` });
    await call("token_get", { token: "anna", supertoken: superToken });
    await call("token_get", { token, supertoken: `root|${rootPassword}` });
    await call("token_list_all_tokens", { token: superToken });
    await call("token_edit", { token: superToken, target_token: "anna", limit: [] });
    await call("token_change_password", {
      token: superToken,
      target_token: "anna",
      new_password: passwords.second,
    });
    const rolled = (await call("token_roll_token_secret", {
      token: superToken,
      target_token: made.key,
    })) as Made;

    const short = "s3cr!";
    await node.refused("token_get", { token });
    await node.refused("token_get", { token: `anna|${passwords.guess}` });
    await node.refused("token_get", { token: `${"x".repeat(5000)}:${passwords.guess}` });
    await node.refused("token_create", [token, { token_limit: limit, password: short }]);
    await node.refused("token_create", [
      superToken,
      { token_limit: limit, username: "anna", password: passwords.second },
    ]);
    await node.refused("token_create", [superToken, { token_limit: "none", password: passwords.second }]);
    await node.refused("token_change_password", {
      token: superToken,
      target_token: "anna",
      new_password: short,
    });
    await node.refused("token_change_password", {
      token: superToken,
      target_token: "x",
      new_password: passwords.guess,
    });
    await node.refused("token_list_all_tokens", { token: `${rolled.key}:${rolled.secret}` });
    await node.refused("token_delete", { token: `anna|${passwords.second}`, target_token: "anna" });
    await call("token_delete", { token: superToken, target_token: "anna" });

    const log = logOf(node);
    expect(log).toContain("token::change_password");
    expectNone(log, {
      "the Super Token's secret": superToken.split(":")[1] ?? "",
      "the root password": rootPassword,
      "a token's secret": made.secret,
      "a rolled secret": rolled.secret,
      "a password": passwords.first,
      "a changed password": passwords.second,
      "a guessed password": passwords.guess,
      "a refused password": short,
    });
  },
);

test.each(["token_edit", "token_delete", "token_change_password", "token_roll_token_secret"])(
  "a whole token that somebody pastes as target_token of %s does not reach the log",
  async (method) => {
    await using node = await testNode({ logging });
    const token = await node.newToken([]);
    await node.send(method, {
      token: node.superToken,
      target_token: token,
      limit: [],
      new_password: "new-password",
    });
    const log = logOf(node);
    expect(log).toContain(method.replace("_", "::"));
    expectNone(log, { "the pasted secret": token.split(":")[1] ?? "" });
  },
);

import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { bothDatabases, eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";
import { leftToAll } from "../support/tier.ts";

const dayMs = 86_400_000;

interface Made {
  readonly session: string;
  readonly expires: number;
}

/** A person with a user name and a password, who may read the files of a bucket. */
async function person(node: TestNode, username = "anna", password = "first pass") {
  await node.call("token_create", {
    father_token: node.superToken,
    token_creation: {
      token_limit: [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }],
      username,
      password,
    },
  });
  const token = `${username}|${password}`;
  return {
    token,
    begin: (more: object = {}) => node.call("session_create", { token, ...more }) as Promise<Made>,
  };
}

const idOf = (session: string) => session.slice(1, 17);
const keyOf = async (node: TestNode, token: string) =>
  ((await node.call("token_get", { token })) as { token_key: string }).token_key;
const reasonOf = async (node: TestNode, token: string) =>
  (await node.refused("token_get", { token })).data?.reason;

eachDatabase(
  "a session stands for a user name and a password until its owner, a new password or its time ends it",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    const anna = await person(node);
    const long = await anna.begin({ persistent: true, device: "Firefox · Linux" });
    const [mine, short] = [(await anna.begin()).session, (await anna.begin()).session];
    expect(long.session).toMatch(/^~[A-Za-z0-9]{16}:[A-Za-z0-9]{32}$/);
    expect(await keyOf(node, mine)).toBe(await keyOf(node, anna.token));
    const listed = (await node.call("session_list", { token: mine })) as { id: string; current: boolean }[];
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set([long.session, mine, short].map(idOf)));
    expect(listed.filter(({ current }) => current).map(({ id }) => id)).toEqual([idOf(mine)]);
    expect(listed.find(({ id }) => id === idOf(long.session))).toMatchObject({
      device: "Firefox · Linux",
      address: "127.0.0.1",
      expires: long.expires,
    });
    // A wrong secret, and an id that nobody has, are refused alike.
    for (const wrong of [`~${idOf(mine)}:${"x".repeat(32)}`, `~${"A".repeat(16)}:${"x".repeat(32)}`])
      expect(await reasonOf(node, wrong)).toBe("invalid_credentials");
    // The keys of S3 would outlive it, and no session makes another one.
    expect((await node.refused("token_s3_credentials", { token: mine })).code).toBe(108);
    expect((await node.refused("session_create", { token: mine })).code).toBe(108);

    // Another person cannot end it.
    const eve = await person(node, "eve", "other pass");
    expect(await node.call("session_end", { token: eve.token, id: idOf(mine) })).toBe(0);
    expect(await node.call("session_end", { token: mine, id: idOf(short) })).toBe(1);
    expect(await reasonOf(node, short)).toBe("invalid_credentials");
    expect(await node.call("session_end", { token: mine })).toBe(1);
    expect(await reasonOf(node, long.session)).toBe("invalid_credentials");

    const kept = await anna.begin({ persistent: true });
    await clock.jump(dayMs - 1000);
    await keyOf(node, mine);
    await clock.jump(1000);
    expect(await reasonOf(node, mine)).toBe("invalid_credentials");
    await keyOf(node, kept.session);
    await clock.jump(29 * dayMs);
    expect(await reasonOf(node, kept.session)).toBe("invalid_credentials");

    const last = await anna.begin();
    await node.call("token_change_password", {
      token: node.superToken,
      target_token: "anna",
      new_password: "given pass",
    });
    expect(await reasonOf(node, last.session)).toBe("invalid_credentials");
  },
);

eachDatabase(
  "a person changes the own password with the old one, and is signed out everywhere else",
  async (database) => {
    await using node = await testNode({ database });
    const anna = await person(node);
    const [mine, other] = [(await anna.begin()).session, (await anna.begin()).session];
    const change = { old_password: "first pass", new_password: "second pass" };
    const wrong = { token: mine, ...change, old_password: "guess" };
    expect((await node.refused("session_change_password", wrong)).data?.reason).toBe("invalid_credentials");
    const { session } = (await node.call("session_change_password", { token: mine, ...change })) as Made;
    for (const ended of [mine, other, anna.token])
      expect(await reasonOf(node, ended)).toBe("invalid_credentials");
    await keyOf(node, session);
    await keyOf(node, "anna|second pass");
    // A token without a password has none to change.
    const without = await node.newToken([]);
    expect((await node.refused("session_change_password", { token: without, ...change })).code).toBe(108);
    const reset = { token: node.superToken, target_token: "anna" };
    expect(await node.call("session_reset", reset)).toMatchObject({ sessions_ended: 1 });
    expect(await reasonOf(node, session)).toBe("invalid_credentials");
    const audit = JSON.stringify(await node.call("audit_list", { token: node.superToken }));
    for (const event of ["session.begun", "token.password_changed", "session.ended"])
      expect(audit).toContain(`"${event}"`);
    expect(audit).not.toContain("second pass");
  },
);

leftToAll(test)("guesses at the own password are slowed down as those of a sign-in are", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const { session } = await (await person(node)).begin();
  const guess = (at: number) =>
    node.send("session_change_password", {
      token: session,
      old_password: `guess ${at}`,
      new_password: "second pass",
    });
  for (let at = 0; at < 20; at += 1) expect((await guess(at)).error?.code).toBe(102);
  let isAnswered = false;
  const late = guess(20).finally(() => {
    isAnswered = true;
  });
  await keyOf(node, session);
  expect(isAnswered).toBe(false);
  expect((await clock.settle(late, 1000)).error?.code).toBe(102);
});

leftToAll(bothDatabases)("a token keeps its last hundred sessions", async (database) => {
  await using node = await testNode({ database });
  const anna = await person(node);
  const first = await anna.begin();
  for (let at = 0; at < 99; at += 1) await anna.begin();
  await keyOf(node, first.session);
  const last = await anna.begin();
  expect(await reasonOf(node, first.session)).toBe("invalid_credentials");
  await keyOf(node, last.session);
});

leftToAll(test)("a session that is ended on one node is refused at once by another", async () => {
  await using first = await testNode({ store: "objects over postgres" });
  const { databaseUrl, files } = first;
  await using second = await testNode({ store: "objects over postgres", databaseUrl, files });
  const anna = await person(first);
  const [mine, stolen] = [(await anna.begin()).session, (await anna.begin()).session];
  await keyOf(second, stolen);
  await first.call("session_end", { token: mine });
  expect(await reasonOf(second, stolen)).toBe("invalid_credentials");
  await keyOf(second, mine);
  const change = { old_password: "first pass", new_password: "second pass" };
  await second.call("session_change_password", { token: mine, ...change });
  expect(await reasonOf(first, mine)).toBe("invalid_credentials");
});

import { expect } from "bun:test";
import { join } from "node:path";
import { codeAt } from "../../src/auth/second-factor.ts";
import { bytesOfBase32 } from "../support/base32.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { bothDatabases, eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";
import { leftToAll } from "../support/tier.ts";

const token = "anna|first pass";
interface Codes {
  readonly recovery: readonly string[];
  /** The code of the present period, or of one so many periods later. */
  code(later?: number): string;
}

/** A person whose sign-in asks for codes. */
async function withCodes(node: TestNode, clock: ManualClock): Promise<Codes> {
  await node.call("token_create", {
    father_token: node.superToken,
    token_creation: { token_limit: [], username: "anna", password: "first pass" },
  });
  const begun = { token, password: "first pass" };
  const { secret } = (await node.call("session_totp_begin", begun)) as { secret: string };
  const key = bytesOfBase32(secret);
  const code = (later = 0) => codeAt(key, Math.floor(clock.now() / 30_000) + later);
  const confirmed = { token, code: code() };
  const { recovery_codes: recovery } = (await node.call("session_totp_confirm", confirmed)) as {
    recovery_codes: string[];
  };
  await clock.jump(30_000);
  return { recovery, code };
}

const signIn = (node: TestNode, code?: string) =>
  node.call("session_create", { token, code }) as Promise<{ session: string }>;
const refusal = async (node: TestNode, code?: string) =>
  (await node.refused("session_create", { token, code })).data;

test("codes are those of RFC 6238", () => {
  const secret = Buffer.from("12345678901234567890");
  const at = (seconds: number) => codeAt(secret, Math.floor(seconds / 30));
  expect([59, 1_111_111_109, 1_234_567_890, 20_000_000_000].map(at)).toEqual([
    "287082",
    "081804",
    "005924",
    "353130",
  ]);
});

eachDatabase("a code is asked for beside the password, and is taken once", async (database) => {
  const clock = new ManualClock();
  await using node = await testNode({ database, clock });
  const { recovery, code } = await withCodes(node, clock);
  expect(await refusal(node)).toMatchObject({ reason: "code_missing" });
  const used = code();
  const { session } = await signIn(node, used);
  // A replay, one of an earlier period, and one of a later one.
  for (const wrong of [used, code(-1), code(2)])
    expect(await refusal(node, wrong)).toMatchObject({ reason: "wrong_code" });
  await signIn(node, code(1));
  await signIn(node, recovery[0]);
  expect(await refusal(node, recovery[0])).toMatchObject({ reason: "wrong_code" });
  expect(await node.call("session_totp", { token: session })).toEqual({ on: true, recovery_codes: 9 });
  // The password alone changes neither the password nor the codes; programs go on with it.
  const change = { old_password: "first pass", new_password: "second pass" };
  const missing = await node.refused("session_change_password", { token, ...change });
  expect(missing.data?.reason).toBe("code_missing");
  const again = await node.refused("session_totp_begin", { token, password: "first pass" });
  expect(again.code).toBe(108);
  await node.call("token_get", { token });
  const off = { token: session, password: "first pass", code: recovery[1] };
  await node.call("session_totp_remove", off);
  await signIn(node);
  const audit = JSON.stringify(await node.call("audit_list", { token: node.superToken }));
  for (const text of ["second_factor.turned_on", "second_factor.turned_off", "wrong_code"])
    expect(audit).toContain(`"${text}"`);
  expect(audit).not.toContain(used);
});

eachDatabase(
  "guesses at codes are stopped for a time that doubles, until the operator lets the person in",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    const { code, recovery } = await withCodes(node, clock);
    const guess = async () => {
      for (let at = 0; at < 5; at += 1)
        expect(await refusal(node, "no code")).toMatchObject({ reason: "wrong_code" });
    };
    await guess();
    const until = clock.now() + 900_000;
    // The right code too, which a guess could be.
    expect(await refusal(node, code())).toMatchObject({ reason: "too_many_codes", retry_at: until });
    expect(await refusal(node, recovery[0])).toMatchObject({ reason: "too_many_codes" });
    await clock.jump(900_000);
    await guess();
    await clock.jump(900_000);
    expect(await refusal(node, code())).toMatchObject({ reason: "too_many_codes" });
    const reset = { token: node.superToken, target_token: "anna" };
    expect(await node.call("session_reset", reset)).toMatchObject({ totp_removed: true });
    await signIn(node);
  },
);

leftToAll(bothDatabases)("turning codes on ends the sessions that were begun without", async (database) => {
  const clock = new ManualClock();
  await using node = await testNode({ database, clock });
  await node.call("token_create", {
    father_token: node.superToken,
    token_creation: { token_limit: [], username: "eve", password: "other pass" },
  });
  const begin = async () =>
    ((await node.call("session_create", { token: "eve|other pass" })) as { session: string }).session;
  const [mine, other] = [await begin(), await begin()];
  const begun = { token: mine, password: "other pass" };
  expect((await node.refused("session_totp_begin", { ...begun, password: "guess" })).code).toBe(102);
  const { secret, uri } = (await node.call("session_totp_begin", begun)) as { secret: string; uri: string };
  expect(uri).toBe(`otpauth://totp/node-server%3Aeve?secret=${secret}&issuer=node-server`);
  expect((await node.refused("session_totp_confirm", { token: mine, code: "000000x" })).code).toBe(108);
  // Nothing is asked for until it is confirmed, and who guesses must begin again.
  await begin();
  const code = codeAt(bytesOfBase32(secret), Math.floor(clock.now() / 30_000));
  await node.call("session_totp_confirm", { token: mine, code });
  await node.call("token_get", { token: mine });
  expect((await node.refused("token_get", { token: other })).code).toBe(102);
});

leftToAll(test)("of two nodes that get the same code at once, one takes it", async () => {
  const clock = new ManualClock();
  await using first = await testNode({ store: "objects over postgres", clock });
  const { databaseUrl, files, folder } = first;
  const top = `link_key_file = ${JSON.stringify(join(folder, "config.link-key"))}\n`;
  await using second = await testNode({ store: "objects over postgres", databaseUrl, files, clock, top });
  const { code } = await withCodes(first, clock);
  const given = code();
  const answers = await Promise.all(
    [first, second, first, second].map((node) => node.send("session_create", { token, code: given })),
  );
  expect(answers.filter(({ error }) => error === undefined).length).toBe(1);
  await clock.jump(30_000);
  for (const node of [second, first]) {
    await signIn(node, code());
    await clock.jump(30_000);
  }
});

leftToAll(test)("a node with another link key says so, and counts no code as wrong", async () => {
  const clock = new ManualClock();
  await using first = await testNode({ store: "objects over postgres", clock });
  const { databaseUrl, files } = first;
  const { code, recovery } = await withCodes(first, clock);
  await using second = await testNode({ store: "objects over postgres", databaseUrl, files, clock });
  for (let at = 0; at < 6; at += 1)
    expect(await refusal(second, code())).toMatchObject({ reason: "other_link_key" });
  await signIn(second, recovery[0]);
  await signIn(first, code());
});

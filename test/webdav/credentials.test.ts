import { expect } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";
import { actions, ask, basic, challenge, inSite } from "./auth-requests.ts";

const allVerbs = "PROPFIND GET HEAD PROPPATCH PUT DELETE MKCOL COPY MOVE LOCK UNLOCK".split(" ");

/** What a PROPFIND of the bucket with these credentials is answered. */
async function statusFor(node: TestNode, pair: string, bucket = "site"): Promise<number> {
  const response = await ask(node, "PROPFIND", `/${bucket}/`, basic(pair));
  if (response.status === 401) expect(response.headers.get("www-authenticate")).toBe(challenge);
  await response.body?.cancel();
  return response.status;
}

eachDatabase(
  "key and secret, user name and password, the Super Token and the root password all open a bucket, odd characters included",
  async (database) => {
    await using node = await testNode({ database });
    await webdavSite(node);
    const passwords = {
      anna: "pass:word:|with",
      bodil: "blåbærgrød 密碼 🔑",
      carl: ":leading",
      dora: "trailing: ",
    };
    for (const [username, password] of Object.entries(passwords)) {
      const token = await node.newToken(inSite(actions), { username, password });
      for (const pair of [token, `${username}:${password}`, `${username}:${password}`])
        expect([pair, await statusFor(node, pair)]).toEqual([pair, 207]);
      for (const wrong of [`${username}:${password.slice(0, -1)}`, `${username}:${password}x`])
        expect([wrong, await statusFor(node, wrong)]).toEqual([wrong, 401]);
    }
    expect(await statusFor(node, node.superToken)).toBe(207);
    expect(await statusFor(node, `root:${node.rootPassword}`)).toBe(207);
    const shouted = basic(node.superToken).replace("Basic", "BASIC");
    expect((await ask(node, "HEAD", "/site/", shouted)).status).toBe(200);
  },
);

eachDatabase(
  "a rolled secret, a changed password, taken rights, a deleted and an expired token are refused by the very next request",
  async (database) => {
    await using node = await testNode({ database });
    await webdavSite(node);
    const change = (method: string, more: Record<string, unknown> = {}) =>
      node.call(method, { token: node.superToken, target_token: "anna", ...more });
    const first = await node.newToken(inSite(actions), { username: "anna", password: "first-word" });
    const now = async () => [
      await statusFor(node, first),
      await statusFor(node, "anna:first-word"),
      await statusFor(node, "anna:second-word"),
    ];
    expect(await now()).toEqual([207, 207, 401]);
    await change("token_change_password", { new_password: "second-word" });
    expect(await now()).toEqual([207, 401, 207]);
    const { key, secret } = (await change("token_roll_token_secret")) as { key: string; secret: string };
    expect([...(await now()), await statusFor(node, `${key}:${secret}`)]).toEqual([401, 401, 207, 207]);
    await change("token_edit", { limit: inSite(["read", "write", "delete"]) });
    expect(await statusFor(node, `${key}:${secret}`)).toBe(403);
    await change("token_edit", { limit: inSite(actions) });
    expect(await statusFor(node, `${key}:${secret}`)).toBe(207);
    await change("token_delete");
    expect([await statusFor(node, `${key}:${secret}`), await statusFor(node, "anna:second-word")]).toEqual([
      401, 401,
    ]);
    const brief = await node.newToken(inSite(actions), {
      timestamp_to: Date.now() + 3_600_000,
      username: "bo",
      password: "brief-word",
    });
    expect([await statusFor(node, brief), await statusFor(node, "bo:brief-word")]).toEqual([207, 207]);
    // An hour later.
    await node.sql(`UPDATE token SET time_stamp_to = ${Date.now() - 1} WHERE username = 'bo'`);
    expect([await statusFor(node, brief), await statusFor(node, "bo:brief-word")]).toEqual([401, 401]);
    const later = await node.newToken(inSite(actions), { timestamp_from: Date.now() + 3_600_000 });
    expect(await statusFor(node, later)).toBe(401);
  },
);

eachDatabase(
  "no secret or password reaches the log, whatever a WebDAV request does with it",
  async (database) => {
    const logging = 'memory_log_filter = "trace"\nmemory_log_capacity = 100000\n';
    const clock = new ManualClock();
    await using node = await testNode({ database, logging, clock });
    const { dav } = await webdavSite(node);
    const token = await node.newToken(inSite(actions), { username: "anna", password: "very-secret-word" });
    const [key = "", secret = ""] = token.split(":");
    for (const pair of [
      token,
      "anna:very-secret-word",
      `${key}:guessed-secret`,
      "anna:guessed-word",
      "guessed-name-only",
    ]) {
      for (const method of allVerbs) await (await ask(node, method, "/site/a.txt", basic(pair))).text();
      // More guesses in a minute would be delayed.
      await clock.advance(60_000);
    }
    await (await ask(node, "GET", "/site/a.txt", "Bearer guessed-bearer")).text();
    // Also when the server itself is at a loss.
    await rm(join(node.folder, "static"), { recursive: true, force: true });
    expect((await dav("PUT", "/b.txt", {}, "content-of-a-file")).status).toBeGreaterThanOrEqual(400);
    const log = node.node.ring
      .entries()
      .map((entry) => JSON.stringify(entry))
      .join("\n");
    expect(log).toContain("webdav PROPFIND");
    const [, superSecret = ""] = node.superToken.split(":");
    const secrets = [
      secret,
      superSecret,
      "very-secret-word",
      "guessed-secret",
      "guessed-word",
      "guessed-bearer",
    ];
    for (const word of [...secrets, "content-of-a-file"]) {
      expect([word, log.includes(word)]).toEqual([word, false]);
      expect([word, log.includes(Buffer.from(word).toString("base64").slice(0, -3))]).toEqual([word, false]);
    }
    for (const pair of [token, "anna:very-secret-word"])
      expect([pair, log.includes(Buffer.from(pair).toString("base64"))]).toEqual([pair, false]);
  },
);

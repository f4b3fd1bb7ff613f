import { expect } from "bun:test";
import { loggedIn } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { chosenFor } from "../support/tier.ts";

const list = ["call", "static-bucket_list"];

for (const kind of chosenFor("renew", databaseKinds)) {
  story(`rolling the token of one's own login keeps one logged in (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    await user.does(["login", node.url, "--name", "again"], { stdin: node.superToken });
    const rolled = await user.run(["tokens", "roll", "root", "--yes"]);
    expect(rolled.code).toBe(0);
    expect(rolled.stderr).toContain("the saved login of here, again uses the new secret");
    expect(rolled.stderr).not.toContain(rolled.stdout.trim().split(":")[1] ?? "?");
    expect(await user.does(list)).toBe("[]\n");
    expect(await user.does([...list, "-s", "here"])).toBe("[]\n");
    // The same by a plain call; what belongs to somebody else changes nothing here.
    await user.does(["call", "token_roll_token_secret", "target_token=root"]);
    expect(await user.does(list)).toBe("[]\n");
    await user.does(["tokens", "create", "--webdav", "x", "--username", "other"]);
    const others = await user.run(["tokens", "roll", "other", "--yes"]);
    expect([others.code, others.stderr]).toEqual([0, "save it; it is not shown again\n"]);
    expect(await user.does(list)).toBe("[]\n");
  });

  story(`changing the password of one's own login keeps one logged in (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    await user.does(["login", node.url, "--name", "here"], { stdin: `root|${node.rootPassword}` });
    const change = (target: string, password: string) =>
      user.run(["call", "token_change_password", `target_token=${target}`, `new_password=${password}`]);
    const changed = await change("root", "another | one");
    expect(changed.code).toBe(0);
    expect(changed.stderr).toContain("the saved login of here uses the new password");
    expect(changed.stderr).not.toContain("another");
    expect(await user.does(list)).toBe("[]\n");
    const byKey = await change(node.superToken.split(":")[0] ?? "", "a third one");
    expect(byKey.stderr).toContain("uses the new password");
    expect(await user.does(list)).toBe("[]\n");
  });
}

story("a token of the environment that is rolled is said to be old", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const { code, stderr } = await user.run(["tokens", "roll", "root", "--yes"], { env });
  expect(code).toBe(0);
  expect(stderr).toContain("NODE_SERVER_TOKEN still has the old one");
});

import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { loggedIn } from "../support/cli.ts";
import { tempFolder } from "../support/node.ts";
import { story } from "../support/process.ts";
import { openRelay } from "../support/relay.ts";
import { until, within } from "../support/until.ts";

story("watch shows what changes, goes on after a lost connection, and ends when its token does", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const token = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "list" }] },
  ]);
  await using relay = await openRelay(Number(new URL(node.url).port));
  const follow = user.launch(["watch", "site", "--json"], {
    env: { NODE_SERVER_URL: relay.url, NODE_SERVER_TOKEN: token },
  });
  const upload = (path: string) =>
    node.call("static-bucket-file_upload", { token: node.superToken, name: "site", path, body: "" });
  await until("it follows", () => follow.stdout.includes('"begun"'));
  await upload("a");
  await until("it shows a", () => follow.stdout.includes('"path":"a"'));
  relay.cut();
  await upload("b");
  await relay.mend();
  await until("it shows b", () => follow.stdout.includes('"path":"b"'));
  expect(follow.stdout.match(/"reset"/g)).toHaveLength(1);
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
  expect((await within("it ends", follow.exited)).code).toBe(3);
});

story("watch --exec hands over names that a shell would run, and never runs twice at once", async () => {
  await using scene = await loggedIn();
  await using folder = await tempFolder();
  const { node, user } = scene;
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const seen = `${folder.path}/seen`;
  const follow = user.launch([
    "watch",
    "site",
    "in/",
    "--exec",
    `echo "$WATCH_BUCKET $WATCH_EVENT $WATCH_PATH" >> ${seen}; cat >> ${seen}`,
  ]);
  const ran = async (text: string) => (await readFile(seen, "utf8").catch(() => "")).includes(text);
  await until("it ran at the beginning", () => ran("site reset"));
  const path = "in/$(touch gone); `x` 'y' \"z\"";
  const token = node.superToken;
  await node.call("static-bucket-file_upload", { token, name: "site", path: "out", body: "" });
  await node.call("static-bucket-file_upload", { token, name: "site", path, body: "" });
  await until("it ran for the file", () => ran(`site created ${path}\n`));
  expect(await ran("out")).toBe(false);
  follow.signal("SIGINT");
  expect((await within("it ends", follow.exited)).code).toBe(0);
});

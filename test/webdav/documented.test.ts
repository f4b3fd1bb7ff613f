import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaced } from "../support/documented.ts";
import { testNode } from "../support/node.ts";
import { findTool } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/webdav.md"), "utf8");

test("the documented rclone commands sign in and copy, and keep no readable secret", async () => {
  await using node = await testNode();
  const { base } = await webdavSite(node);
  await using tool = await findTool("the documented rclone commands", "rclone");
  if (tool === undefined) return;
  const [key = "", secret = ""] = node.superToken.split(":");
  const [, commands = ""] = /\*\*rclone\*\*\n\n```\n([\s\S]*?)```/.exec(page) ?? [];
  const lines = replaced(commands, [
    ["https://files.example.com/node/static-webdav/site", base],
    ["<key>", key],
    ["<secret>", secret],
  ]);
  const env = { RCLONE_CONFIG: join(tool.home, "rclone.conf"), RCLONE_RETRIES: "1" };
  await Bun.write(join(tool.home, "public/index.html"), "hello");
  for (const line of lines.trim().split("\n")) await tool.does(line.split(" ").slice(1), { env });
  expect(await (await fetch(`${node.url}/node/static/site/index.html`)).text()).toBe("hello");
  expect(readFileSync(env.RCLONE_CONFIG, "utf8")).not.toContain(secret);
});

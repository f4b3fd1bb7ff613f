import { expect } from "bun:test";
import { join } from "node:path";
import { eachStore, testNode } from "../support/node.ts";
import { backupOf, restoredNode } from "../support/restored-node.ts";
import { inSite, linkSite, type Made, notValid } from "./link-site.ts";

eachStore(
  "links are worth after a restore with the link key what they were worth when the backup was made",
  async (store) => {
    await using node = await testNode(store);
    const site = await linkSite(node, { "a.txt": "a", "in/x.txt": "x" });
    const [ended, kept] = [
      await node.newToken(inSite(node, "read")),
      await node.newToken(inSite(node, "read")),
    ];
    const by = (token: string) =>
      node.call("static-bucket-file_link", { token, name: "site", path: "a.txt" }) as Promise<Made>;
    const links = {
      plain: await site.make("a.txt"),
      counted: await site.make("a.txt", { max_downloads: 2 }),
      locked: await site.make("a.txt", { password: "open" }),
      revoked: await site.make("a.txt", { max_downloads: 9 }),
      archive: await site.make("in", { zip: true }),
      ended: await by(ended),
      later: await by(kept),
    };
    expect(await site.answer(links.counted.address)).toEqual([200, "a"]);
    await node.call("static-bucket_unlink", {
      token: node.superToken,
      name: "site",
      id: links.revoked.id,
    });
    await node.call("token_delete", [node.superToken, ended]);
    const path = join(node.folder, "b.tar.zst");
    await backupOf(node, path);
    // What ends afterwards is as it was: a restore goes back in time with all rows.
    await node.call("token_delete", [node.superToken, kept]);
    expect(await site.answer(links.later.address)).toEqual([404, notValid]);

    // Without the key, which no backup has, none is worth anything.
    {
      await using bare = await restoredNode(path, store);
      const { status } = await fetch(bare.node.url + links.plain.address);
      expect(status).toBe(404);
    }
    const top = `link_key_file = ${JSON.stringify(join(node.folder, "config.link-key"))}\n`;
    await using restored = await restoredNode(path, store, { top });
    const answer = async ({ address }: Made, headers: Record<string, string> = {}) => {
      const response = await fetch(restored.node.url + address, { redirect: "manual", headers });
      return [response.status, await response.text()] as const;
    };
    expect(await answer(links.plain)).toEqual([200, "a"]);
    expect((await answer(links.archive))[0]).toBe(200);
    expect(await answer(links.counted)).toEqual([200, "a"]);
    expect((await answer(links.counted))[0]).toBe(410);
    expect((await answer(links.revoked))[0]).toBe(410);
    expect(await answer(links.ended)).toEqual([404, notValid]);
    expect(await answer(links.later)).toEqual([200, "a"]);
    const password = `Basic ${Buffer.from(":open").toString("base64")}`;
    expect((await answer(links.locked))[1]).not.toBe("a");
    expect(await answer(links.locked, { authorization: password })).toEqual([200, "a"]);
  },
);

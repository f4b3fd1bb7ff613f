import { expect } from "bun:test";
import { deployClient } from "../support/deploys.ts";
import { eachStore, everyStore, testNode } from "../support/node.ts";
import { digestOf, distinctBytes, resumable } from "../support/resumable.ts";
import { storedSite } from "../support/stored-site.ts";
import { lockInfo } from "../support/webdav-locks.ts";

const permissions = ["read", "write", "delete", "list"].map((name) => ({ static_bucket_file: name }));
const limits = [{ scopes: [{ static_bucket: "site" }], permissions }];
const bytes = distinctBytes(2000);

eachStore(
  "an upload belongs to its token, its bucket and its path; to everybody else it does not exist",
  async (store) => {
    await using node = await testNode(store);
    const site = await storedSite(node);
    await node.call("static-bucket_create", { token: node.superToken, name: "other" });
    const [own, stranger] = [await node.newToken(limits), await node.newToken(limits)];
    const mine = resumable(node.url, own);
    const theirs = resumable(node.url, stranger);
    const address = await mine.address("site/a.bin", 2000);
    await mine.append(address, 0, bytes.slice(0, 1000));
    const missing = address.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    const textOf = async (answer: Promise<Response>) => [(await answer).status, await (await answer).text()];
    for (const method of ["HEAD", "DELETE"])
      expect([method, await textOf(theirs.ask(method, address))]).toEqual([
        method,
        await textOf(mine.ask(method, missing)),
      ]);
    expect(await textOf(theirs.append(address, 1000, bytes.slice(1000)))).toEqual(
      await textOf(mine.append(missing, 1000, bytes.slice(1000))),
    );
    expect(await theirs.unfinished("site/")).toEqual([]);
    expect(
      (await fetch(node.url + address, { method: "HEAD", headers: { "tus-resumable": "1.0.0" } })).status,
    ).toBe(401);
    for (const changed of [address.replace("a.bin", "b.bin"), address.replace("/site/", "/other/")]) {
      const status = (await mine.append(changed, 1000, bytes.slice(1000))).status;
      expect([changed, status]).toEqual([changed, changed.includes("other") ? 403 : 404]);
    }
    // The Super Token sees all, and may cancel them.
    const root = resumable(node.url, node.superToken);
    expect(await root.unfinished("site/")).toMatchObject([
      { path: "a.bin", offset: 1000, token_key: own.split(":")[0] },
    ]);
    await node.call("token_delete", { token: node.superToken, target_token: own.split(":")[0] });
    expect((await mine.append(address, 1000, bytes.slice(1000))).status).toBe(401);
    expect((await root.ask("DELETE", address)).status).toBe(204);
    expect(await site.paths()).toEqual([]);
  },
);

eachStore(
  "what forbids a file in between forbids it at the end, and an upload that may go on later does",
  async (store) => {
    await using node = await testNode(store);
    const site = await storedSite(node, { "kept.txt": "old" });
    const { address: addressOf, append, offsetOf } = resumable(node.url, node.superToken);
    const half = async (path: string, headers: Record<string, string> = {}) => {
      const address = await addressOf(`site/${path}`, 2000, headers);
      expect((await append(address, 0, bytes.slice(0, 1000))).status).toBe(204);
      return address;
    };
    const rest = (address: string, headers: Record<string, string> = {}) =>
      append(address, 1000, bytes.slice(1000), headers);
    // A condition that is broken in between.
    const fresh = await half("fresh.bin", { "if-none-match": "*" });
    await site.dav("PUT", "/fresh.bin", {}, "theirs");
    expect((await rest(fresh)).status).toBe(412);
    expect(await site.text("fresh.bin")).toBe("theirs");
    const etag = (await site.dav("HEAD", "/kept.txt")).headers.get("etag") ?? "";
    const changed = await half("kept.txt", { "if-match": etag });
    await site.dav("PUT", "/kept.txt", {}, "newer");
    expect((await rest(changed)).status).toBe(412);
    expect(await site.text("kept.txt")).toBe("newer");
    // A lock that is taken in between binds, until its token is sent.
    const locked = await half("locked.bin");
    const lock = await site.dav("LOCK", "/locked.bin", { timeout: "Second-600" }, lockInfo);
    const token = lock.headers.get("lock-token") ?? "";
    expect((await rest(locked)).status).toBe(423);
    expect(await offsetOf(locked)).toBe(1000);
    expect((await rest(locked, { if: `(${token})` })).headers.get("upload-put-status")).toBe("204");
    // A wrong digest.
    const wrong = await half("wrong.bin", { "repr-digest": digestOf(distinctBytes(2000, 5)) });
    const refused = await rest(wrong);
    expect([refused.status, refused.headers.get("x-error-reason")]).toEqual([400, "digest_mismatch"]);
    expect(await offsetOf(wrong)).toBe(404);
    expect(await site.exists("wrong.bin")).toBe(false);
    // A bucket that is disabled, moved, deleted.
    const going = await half("going.bin");
    const update = (changes: object) =>
      node.call("static-bucket_update", { token: node.superToken, name: "site", ...changes });
    await update({ enable: false });
    expect((await rest(going)).status).toBe(404);
    await update({ enable: true });
    await update({ path: "elsewhere" });
    expect((await rest(going)).headers.get("upload-put-status")).toBe("201");
    const read = await site.dav("GET", "/going.bin");
    expect(Buffer.from(bytes).equals(await read.bytes())).toBe(true);
    const last = await half("last.bin");
    await node.call("static-bucket_delete", { token: node.superToken, name: "site" });
    await node.call("static-bucket_create", { token: node.superToken, name: "site", path: "third" });
    expect((await rest(last)).status).toBe(404);
  },
);

everyStore(
  "of two clients that append at once one is refused, and the file is that of the other",
  async (store) => {
    await using node = await testNode(store);
    const site = await storedSite(node);
    const { address: addressOf, append, offsetOf } = resumable(node.url, node.superToken);
    const address = await addressOf("site/a.bin", 2000);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slowly = new ReadableStream({
      async pull(controller) {
        controller.enqueue(bytes.slice(0, 500));
        await released;
        controller.enqueue(bytes.slice(500));
        controller.close();
      },
    });
    const first = append(address, 0, slowly);
    let second: Response | undefined;
    // Until the first one is known to the server, the second may win; then it is the first that is refused.
    second = await append(address, 0, bytes.slice(0, 700));
    if (second.status === 409) {
      expect(second.headers.get("x-error-reason")).toBe("upload_busy");
      release();
      expect((await first).headers.get("upload-put-status")).toBe("201");
    } else {
      release();
      expect((await first).status).toBe(409);
      expect(await offsetOf(address)).toBe(700);
      expect((await append(address, 700, bytes.slice(700))).headers.get("upload-put-status")).toBe("201");
    }
    expect(Buffer.from(bytes).equals(await site.bytes("a.bin"))).toBe(true);
  },
);

eachStore(
  "an upload goes into an open deploy, folders above it included, and not into a closed one",
  async (store) => {
    await using node = await testNode(store);
    await storedSite(node);
    const { begin } = deployClient(node);
    const { address: addressOf, append } = resumable(node.url, node.superToken);
    const deploy = await begin();
    const [one, two] = [
      await addressOf(`site@${deploy}/deep/a.bin`, 2000),
      await addressOf(`site@${deploy}/b.bin`, 2000),
    ];
    expect((await append(one, 0, bytes)).headers.get("upload-put-status")).toBe("201");
    await append(two, 0, bytes.slice(0, 1000));
    await node.call("static-bucket_deploy_publish", { token: node.superToken, name: "site", deploy });
    expect((await append(two, 1000, bytes.slice(1000))).status).toBe(409);
    expect(
      Buffer.from(bytes).equals(await (await fetch(`${node.url}/node/static/site/deep/a.bin`)).bytes()),
    ).toBe(true);
  },
);

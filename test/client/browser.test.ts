import { expect } from "bun:test";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ConnectionFilter } from "../support/connection-filter.ts";
import type { TestNode } from "../support/node.ts";
import { openRelay, type Relay } from "../support/relay.ts";
import { eachOrigin, visit } from "./visited-page.ts";

const folderOf = (node: TestNode) => join(node.folder, "static/site");

/**
 * A relay that passes on ten million bytes of what a connection sends, and loses the rest. So an upload of 30 MB cannot arrive whole before
 * its page breaks it off, as it can where the page is slower than the server.
 */
function losingRelay(node: TestNode): Promise<Relay> {
  const filter = (): ConnectionFilter => {
    let left = 10_000_000;
    return {
      pass(of, bytes) {
        if (of === "answer") return bytes;
        const passed = bytes.subarray(0, left);
        left -= passed.length;
        return passed;
      },
    };
  };
  return openRelay(Number(new URL(node.url).port), { filter });
}

eachOrigin("a page lists a folder, saves with care, and follows the log", async (from, to) => {
  const code = `
    await files.upload("ü & <b>/first.txt", "one", { makeFolders: true, onlyNew: true });
    const [first] = await files.list("ü & <b>");
    const saved = await files.upload("ü & <b>/first.txt", "two", { ifMatch: first.etag });
    const seen = await files.upload("ü & <b>/first.txt", "three", { ifMatch: saved.etag, onProgress() {} });
    const late = [
      await failure(files.upload("ü & <b>/first.txt", "four", { ifMatch: first.etag })),
      await failure(files.upload("ü & <b>/first.txt", "four", { ifMatch: first.etag, onProgress() {} })),
    ];
    const [last] = await files.list("ü & <b>");
    const events = [];
    for await (const event of server.followLog({ log_filter: "off,task=info" })) {
      events.push(event.kind);
      if (event.kind === "entries" && event.entries.at(-1).message === "live") break;
      if (event.kind === "entries") await fetch(collector, { method: "POST", mode: "no-cors", body: '"kept"' });
    }
    return {
      top: (await files.list()).map(({ name, folder }) => [name, folder]).slice(0, 1),
      first: [first.name, first.folder, first.size, first.modified instanceof Date],
      late: late.map((error) => [error instanceof client.FileConflict, error.status]),
      tags: [saved.etag !== first.etag, seen.etag === last.etag],
      events,
    };`;
  to.node.hub.logger("task").info("kept");
  const heard = () => to.node.hub.logger("task").info("live");
  expect(await visit({ from, to, code, heard })).toEqual({
    top: [["ü & <b>", true]],
    first: ["first.txt", false, 3, true],
    late: [
      [true, 412],
      [true, 412],
    ],
    tags: [true, true],
    events: ["connected", "entries", "entries"],
  });
});

eachOrigin("a page calls, batches, and gets errors as classes", async (from, to) => {
  const code = `
    const made = await server.call("static-bucket_create", { name: "more" });
    const [hello, changed] = await server.batch([
      ["node-server_hello"],
      ["static-bucket_update", { name: "nowhere", cors: true }],
    ]);
    const stranger = new client.NodeServerClient(server.url, { token: "no:body" });
    const denied = await failure(stranger.call("static-bucket_list"));
    const nobody = await failure(new client.NodeServerClient("http://127.0.0.1:9").call("node-server_hello"));
    const late = await failure(server.call("node-server_hello", {}, { timeoutMs: 1 }));
    const left = new AbortController();
    const leaving = failure(server.call("node-server_hello", {}, { signal: left.signal }));
    left.abort("gone");
    return {
      url: server.url,
      made: made.name,
      hello,
      changed: [changed instanceof client.NotFound, changed.name],
      denied: [denied instanceof client.PermissionDenied, denied instanceof client.RpcError, denied.code],
      nobody: [nobody instanceof client.Unreachable, nobody.name],
      late: late.name,
      left: await leaving,
    };`;
  expect(await visit({ from, to, code })).toEqual({
    url: to.url,
    made: "more",
    hello: "Node Server Is Running!",
    changed: [true, "NotFound"],
    denied: [true, true, 102],
    nobody: [true, "Unreachable"],
    late: "TimedOut",
    left: "gone",
  });
});

eachOrigin("a page hears events, and leaves", async (from, to) => {
  const talk = setInterval(() => to.node.hub.logger("task").info("still here"), 20);
  const code = `
    const connected = [];
    const options = { onConnect: (again) => connected.push(again) };
    const heard = [];
    for await (const { target, message } of server.subscribe("node-server_stream_log", { log_filter: "task=info" }, options)) {
      heard.push(target + ": " + message);
      if (heard.length === 2) break;
    }
    const stop = new AbortController();
    const silent = server.subscribe("node-server_stream_log", { log_filter: "off" }, { signal: stop.signal, onConnect: () => stop.abort() });
    const ended = (await silent.next()).done;
    const stranger = new client.NodeServerClient(server.url, { token: "no:body" });
    const denied = await failure(stranger.subscribe("node-server_stream_log", { log_filter: "info" }).next());
    return { connected, heard, ended, denied: denied.name };`;
  try {
    expect(await visit({ from, to, code })).toEqual({
      connected: [false],
      heard: ["task: still here", "task: still here"],
      ended: true,
      denied: "PermissionDenied",
    });
  } finally {
    clearInterval(talk);
  }
});

eachOrigin("a page sends and fetches 5 MB with progress, in whatever form", async (from, to) => {
  const code = `
    const told = {};
    for (const [name, content] of Object.entries({
      blob: new Blob([large]), bytes: large, stream: new Blob([large]).stream(), "a/b c/text": "Grüße", empty: "",
    })) {
      const { onProgress, verdict } = progress();
      await files.upload(name, content, { onProgress, makeFolders: true, modified: new Date(1_500_000_000_000) });
      told[name] = [verdict(), wayOf(name)];
    }
    await files.upload("quiet", new Blob([large]).stream());
    const { onProgress, verdict } = progress();
    const whole = await files.download("stream", { onProgress });
    await files.move("a/b c/text", "moved");
    const moved = await (await files.download("moved")).text();
    await files.remove("a");
    const gone = await failure(files.download("a/b c/text"));
    return {
      told, whole: await sameBytes(whole), download: verdict(), quiet: wayOf("quiet"), moved,
      gone: [gone instanceof client.FileNotFound, gone.status],
    };`;
  const way = ["xmlhttprequest"];
  const large = [{ rising: true, totals: [5_000_000], last: 5_000_000 }, way];
  expect(await visit({ from, to, code })).toEqual({
    told: {
      blob: large,
      bytes: large,
      stream: large,
      "a/b c/text": [{ rising: true, totals: [7], last: 7 }, way],
      empty: [{ rising: true, totals: [0], last: 0 }, way],
    },
    whole: true,
    download: { rising: true, totals: [5_000_000], last: 5_000_000 },
    quiet: ["fetch"],
    moved: "Grüße",
    gone: [true, 404],
  });
  const written = await stat(join(folderOf(to), "blob"));
  expect([written.size, written.mtimeMs]).toEqual([5_000_000, 1_500_000_000_000]);
});

eachOrigin("what a page breaks off or may not do leaves the old file as it was", async (from, to) => {
  await using relay = await losingRelay(to);
  const relayed: TestNode = Object.create(to, { url: { value: relay.url } });
  const code = `
    const huge = new Blob(Array(6).fill(large));
    await files.upload("kept", "old");
    const broken = async (content) => {
      const stop = new AbortController();
      const onProgress = () => stop.abort("enough");
      return failure(files.upload("kept", content, { signal: stop.signal, onProgress }));
    };
    const upload = await broken(huge);
    const already = await failure(files.upload("kept", "new", { signal: AbortSignal.abort("before"), onProgress() {} }));
    const stuck = new ReadableStream({});
    const waiting = new AbortController();
    setTimeout(() => waiting.abort("stuck"), 50);
    const source = await Promise.race([
      failure(files.upload("kept", stuck, { signal: waiting.signal })),
      new Promise((resolve) => setTimeout(resolve, 30_000, "it waits for ever")),
    ]);
    async function* failing() { yield large; throw new Error("no more"); }
    const failed = await failure(files.upload("kept", failing()));
    await files.upload("large", large);
    const stop = new AbortController();
    const download = await failure(files.download("large", { signal: stop.signal, onProgress: () => stop.abort("half") }));
    const strange = new client.NodeServerClient(server.url, { token: "no:body" }).bucket("site");
    const denied = [
      await failure(strange.upload("kept", "new")),
      await failure(strange.upload("kept", "new", { onProgress() {} })),
      await failure(strange.download("kept")),
    ];
    const kept = await files.download("kept");
    return {
      upload, already, source, failed: failed.message, download,
      denied: denied.map((error) => error.name), kept: [kept.size, await kept.slice(0, 10).text()],
    };`;
  expect(await visit({ from: from === to ? relayed : from, to: relayed, code })).toEqual({
    upload: "enough",
    already: "before",
    source: "stuck",
    failed: "no more",
    download: "half",
    denied: ["FileDenied", "FileDenied", "FileDenied"],
    kept: [3, "old"],
  });
  const names = (await readdir(folderOf(to))).filter((name) => !/^page|^node-server-client/.test(name));
  expect(names.sort()).toEqual(["kept", "large"]);
});

import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { type TestNode, type TestNodeOptions, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { storedFiles } from "../support/stored-site.ts";
import { scaled, tier } from "../support/tier.ts";
import { until } from "../support/until.ts";
import { Consumer, eachRuntime, eachRuntimeAndStore } from "./consumer.ts";

async function nodeWithBucket(options: TestNodeOptions = {}): Promise<TestNode> {
  const node = await testNode(options);
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  return node;
}

function login({ url, superToken }: TestNode) {
  return { url, token: superToken };
}

/** Bytes that are not all alike. */
const bytes = (size: number) => `
const size = ${size};
const large = new Uint8Array(size);
for (let i = 0; i < size; i += 4096) large[i] = i >> 12;
const files = server.bucket("site");
/** Tells what was wrong with the steps of a transfer, and nothing when nothing was. */
const steps = (expected) => {
  const told = [];
  return {
    onProgress: (bytes, total) => told.push([bytes, total]),
    verdict: () => [
      told.length >= ${tier === "fast" ? 15 : 50},
      told.every(([bytes], i) => i === 0 || bytes > told[i - 1][0]),
      told.every(([, total]) => total === expected),
      told.at(-1)[0] === size,
    ].join(" "),
  };
};
`;

/** More than a socket takes at once; test:all sends several parts to an object store. */
const sentBytes = tier === "fast" ? 6_000_000 : 20_000_000;

eachRuntimeAndStore(
  scaled("a large file goes up and comes down with progress, in whatever form they are given"),
  async (runtime, store) => {
    await using node = await nodeWithBucket({ ...store, top: "sync_uploads = false\n" });
    await using consumer = await Consumer.open();
    const lines = await consumer.run(
      runtime,
      `${bytes(sentBytes)}
    const stream = () => new Blob([large]).stream();
    async function* pieces() { for (let at = 0; at < size; at += 100_000) yield large.subarray(at, at + 100_000); }
    for (const [name, content, expected] of [
      ["bytes", large, size], ["buffer", large.buffer, size], ["blob", new Blob([large]), size],
      ["stream", stream(), undefined], ["pieces", pieces(), undefined],
    ]) {
      const { onProgress, verdict } = steps(expected);
      await files.upload(name, content, { onProgress });
      console.log(name, verdict());
      await files.upload(name + ".quiet", name === "stream" ? stream() : name === "pieces" ? pieces() : content);
    }
    const { onProgress, verdict } = steps(size);
    const blob = await files.download("bytes", { onProgress });
    console.log("download", verdict(), Buffer.from(await blob.arrayBuffer()).equals(large));
    `,
      login(node),
    );
    const names = ["bytes", "buffer", "blob", "stream", "pieces"];
    expect(lines).toEqual([
      ...names.map((name) => `${name} true true true true`),
      "download true true true true true",
    ]);
    const tree = await storedFiles(node).tree();
    expect(Object.keys(tree)).toEqual(names.flatMap((name) => [name, `${name}.quiet`]).sort());
    expect(new Set(Object.values(tree)).size).toBe(1);
  },
);

eachRuntimeAndStore("small files of every form arrive whole, empty ones as well", async (runtime, store) => {
  await using node = await nodeWithBucket(store);
  await using consumer = await Consumer.open();
  await writeFile(consumer.file("on-disk.txt"), "from the disk");
  const lines = await consumer.run(
    runtime,
    `import { createReadStream } from "node:fs";
    const files = server.bucket("site");
    const told = [];
    const onProgress = (bytes, total) => told.push(bytes + "/" + total);
    const bytes = new TextEncoder().encode("größer");
    async function* words() { yield "grö"; yield bytes.subarray(4); }
    await files.upload("ü/text 100%.txt", "größer", { onProgress, makeFolders: true, modified: new Date(86400_000) });
    await files.upload("ü/bytes", bytes, { onProgress });
    await files.upload("ü/blob", new Blob(["grö", "ßer"]), { onProgress });
    await files.upload("ü/stream", new Blob([bytes]).stream(), { onProgress });
    await files.upload("ü/words", words(), { onProgress });
    await files.upload("ü/disk", createReadStream("on-disk.txt"), { onProgress });
    await files.upload("ü/empty", "", { onProgress });
    console.log(told.join(" "));
    for (const name of ["text 100%.txt", "bytes", "blob", "stream", "words", "disk", "empty"])
      console.log(await (await files.download("ü/" + name)).text() + ".");
    await files.move("ü/bytes", "ü/bewegt");
    await files.copy("ü/bewegt", "ü/kopie");
    const kept = await files.copy("ü/disk", "ü/kopie", { overwrite: false }).catch((error) => error.status);
    const [kopie, gone, folder] = await Promise.all(["ü/kopie", "ü/bytes", "ü/"].map((path) => files.find(path)));
    console.log(kept, kopie.name, kopie.size, gone, folder.name, folder.folder);
    await files.remove("ü/kopie");
    await files.remove("ü/blob");
    await files.remove("ü/blob");
    console.log((await (await files.open("ü/bewegt")).bytes?.() ?? bytes).length, await fetch(files.address("x")).then(({ status }) => status));
    `,
    login(node),
  );
  expect(lines).toEqual([
    "8/8 8/8 8/8 8/undefined 4/undefined 8/undefined 13/undefined 0/0",
    ...Array(5).fill("größer."),
    "from the disk.",
    ".",
    "412 kopie 8 undefined ü true",
    "8 401",
  ]);
  expect(await storedFiles(node).names("ü")).toEqual(
    ["bewegt", "disk", "empty", "stream", "text 100%.txt", "words"].sort(),
  );
  expect((await storedFiles(node).stats("ü/text 100%.txt")).modifiedMs).toBe(86_400_000);
});

eachRuntimeAndStore(
  "an upload that is broken off or whose source fails leaves the old file",
  async (runtime, store) => {
    await using node = await nodeWithBucket(store);
    const stored = storedFiles(node);
    await stored.write({ film: "old" });
    await using consumer = await Consumer.open();
    const lines = await consumer.run(
      runtime,
      `${bytes(20_000_000)}
    const tell = (work) => work.then(() => console.log("done"), (error) => console.log(error.name, error.message));
    for (const content of [large, new Blob([large]), new Blob([large]).stream()]) {
      const stop = new AbortController();
      const onProgress = (bytes) => bytes > 5_000_000 && stop.abort(new RangeError("enough"));
      await tell(files.upload("film", content, { signal: stop.signal, onProgress }));
    }
    await tell(files.upload("film", large, { signal: AbortSignal.abort(new RangeError("never")) }));
    async function* broken() { for (let i = 0; i < 20; i++) yield large.subarray(0, 100_000); throw new TypeError("the disk is gone"); }
    await tell(files.upload("film", broken()));
    await tell(files.upload("film", new ReadableStream({
      pull(controller) { controller.enqueue(large.subarray(0, 1000)); if (++this.count > 3) controller.error(new TypeError("no more")); },
      count: 0,
    })));
    let cancelled = false;
    const stop = new AbortController();
    async function* watched() { try { for (;;) yield large.subarray(0, 100_000); } finally { cancelled = true; } }
    await tell(files.upload("film", watched(), { signal: stop.signal, onProgress: () => stop.abort(new RangeError("over")) }));
    for (let i = 0; i < 3000 && !cancelled; i++) await new Promise((done) => setTimeout(done, 10));
    console.log("source closed", cancelled);
    `,
      login(node),
    );
    expect(lines).toEqual([
      ...Array(3).fill("RangeError enough"),
      "RangeError never",
      "TypeError the disk is gone",
      "TypeError no more",
      "RangeError over",
      "source closed true",
    ]);
    expect(await stored.contents()).toEqual({ film: "old" });
    await until("nothing half-done is left", () => stored.uploads().length === 0);
  },
);

eachRuntime("a download that is broken off, or breaks, is no file", async (runtime) => {
  await using node = await nodeWithBucket();
  await storedFiles(node).write({ film: new Uint8Array(50_000_000) });
  const port = await freePort();
  const cut = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
      setTimeout(() => socket.end(), 100);
    });
  });
  await new Promise<void>((resolve) => cut.listen(port, "127.0.0.1", resolve));
  await using consumer = await Consumer.open();
  try {
    const lines = await consumer.run(
      runtime,
      `const tell = (work) => work.then(() => console.log("done"), (error) => console.log(error.name, error.message));
      const stop = new AbortController();
      let last = 0;
      const onProgress = (bytes) => { last = bytes; if (bytes > 5_000_000) stop.abort(new RangeError("enough")); };
      await tell(server.bucket("site").download("film", { signal: stop.signal, onProgress }));
      console.log(last < 50_000_000);
      await tell(server.bucket("site").download("film", { onProgress() { throw new TypeError("my own mistake"); } }));
      await tell(new client.NodeServerClient("http://127.0.0.1:${port}").bucket("site").download("film"));
      `,
      login(node),
    );
    expect(lines.slice(0, 3)).toEqual(["RangeError enough", "true", "TypeError my own mistake"]);
    expect(lines[3]).toMatch(/^Disconnected film: the connection broke after \d/);
  } finally {
    cut.close();
  }
});

eachRuntime(
  "each refusal of a file is a class of its own, also while much is being sent",
  async (runtime) => {
    await using node = await nodeWithBucket({ top: "max_upload_size = 1000000" });
    await storedFiles(node).write({ "folder/inner.txt": "inner" });
    const lock = await fetch(`${node.url}/node/static-webdav/site/folder/inner.txt`, {
      method: "LOCK",
      headers: { authorization: `Basic ${btoa(node.superToken)}`, timeout: "Second-600" },
      body: '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>',
    });
    expect(lock.status).toBe(200);
    await using page = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<p>") });
    await using consumer = await Consumer.open();
    const lines = await consumer.run(
      runtime,
      `${bytes(20_000_000)}
    const tell = (work) => work.then(() => console.log("done"), (error) => console.log(error.name, error.status));
    const stranger = (token) => new client.NodeServerClient(server.url, { token }).bucket("site");
    await tell(stranger("nobody:nothing").download("film"));
    await tell(stranger(undefined).upload("film", "x"));
    await tell(files.download("nothing"));
    await tell(files.upload("no/such/folder", "x"));
    await tell(files.upload("folder", "x"));
    await tell(files.upload("folder/inner.txt", "x"));
    await tell(files.remove("folder"));
    await tell(files.upload("film", large));
    await tell(files.upload("film", large, { onProgress() {} }));
    await tell(files.upload("film", new Blob([large]).stream()));
    const page = new client.NodeServerClient(${JSON.stringify(page.url.origin)}).bucket("site");
    await tell(page.upload("film", "x"));
    await tell(new client.NodeServerClient("http://127.0.0.1:${await freePort()}").bucket("site").download("film"));
    `,
      login(node),
    );
    expect(lines).toEqual([
      ...["FileDenied 401", "FileDenied 401", "FileNotFound 404", "FileConflict 409", "FileConflict 405"],
      ...["FileLocked 423", "FileLocked 423", "FileTooBig 413", "FileTooBig 413", "FileTooBig 413"],
      ...["NotNodeServer undefined", "Unreachable undefined"],
    ]);
  },
);

import { expect, test } from "bun:test";
import { parseListing } from "../../src/client/listing.ts";
import { type StoreOptions, type TestNode, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { scaled, tier } from "../support/tier.ts";
import { Consumer, eachRuntime, eachRuntimeAndStore } from "./consumer.ts";

async function nodeWithBucket(store?: StoreOptions): Promise<TestNode> {
  const node = await testNode(store);
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  return node;
}

const login = ({ url, superToken }: TestNode) => ({ url, token: superToken });

/** Names that an address, XML or a pattern might trip over. */
const odd = [
  "a&amp;b <c> \"d\" 'e'.txt",
  "%20 100% #1?.txt",
  "%41",
  "ünï 漢字 😀.txt",
  "<D:href>",
  "&lt;&#13;&unknown;",
  "tab\there",
  "line\nend",
  "carriage\rreturn",
  "trailing space ",
  " leading",
  "~tilde+plus=$&.txt",
  "]]>",
  ".hidden",
  "constructor",
];

eachRuntimeAndStore(
  "a folder is listed with whatever names there are, folders first",
  async (runtime, store) => {
    await using node = await nodeWithBucket(store);
    const { write, makeFolder, setModified } = storedFiles(node);
    await write(Object.fromEntries(odd.map((name, at) => [name, "x".repeat(at)])));
    const folders = ["deep", ...odd.map((name) => `deep/${name}`), "Zoo", "Zoo/below"];
    for (const folder of folders) await makeFolder(folder);
    await setModified("%41", 86_400);
    await using consumer = await Consumer.open();
    const [top = "", deep = "", inner = "", etag = ""] = await consumer.run(
      runtime,
      `const files = server.bucket("site");
    const show = (value) => console.log(JSON.stringify(value));
    const top = await files.list();
    show(top);
    show(await files.list("deep"));
    show(await files.list("deep/" + ${JSON.stringify(odd[0])} + "/"));
    const response = await files.open("%41");
    show([response.headers.get("etag"), top.every(({ modified }) => modified instanceof Date)]);`,
      login(node),
    );
    const sorted = [...odd].sort();
    const entries = JSON.parse(top) as Array<Record<string, unknown>>;
    expect(entries.slice(0, 2)).toEqual([
      { name: "Zoo", folder: true, modified: expect.any(String) },
      { name: "deep", folder: true, modified: expect.any(String) },
    ]);
    expect(entries.slice(2)).toEqual(
      sorted.map((name) => ({
        name,
        folder: false,
        size: odd.indexOf(name),
        modified: expect.any(String),
        etag: expect.stringMatching(/^"[^"]+"$/),
      })),
    );
    expect((JSON.parse(deep) as Array<{ name: string }>).map(({ name }) => name)).toEqual(sorted);
    expect(JSON.parse(inner)).toEqual([]);
    const old = entries.find(({ name }) => name === "%41");
    expect(old?.modified).toBe("1970-01-02T00:00:00.000Z");
    expect(JSON.parse(etag)).toEqual([old?.etag, true]);
  },
);

eachRuntime(scaled("of many files every one is listed"), async (runtime) => {
  await using node = await nodeWithBucket();
  const count = tier === "fast" ? 500 : 10_000;
  await storedFiles(node).write(
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`file ${at}.txt`, ""])),
  );
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `const names = (await server.bucket("site").list()).map(({ name }) => name);
    console.log(names.length, new Set(names).size, names.every((name) => /^file \\d+\\.txt$/.test(name)));`,
    login(node),
  );
  expect(lines).toEqual([`${count} ${count} true`]);
});

eachRuntime("what cannot be listed is told as an error of its class", async (runtime) => {
  await using node = await nodeWithBucket();
  await storedFiles(node).write({ "file.txt": "x" });
  const small = await node.newToken([]);
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `const tell = (work) => work.then(() => console.log("done"), (error) => console.log(error.name, error.status ?? ""));
    await tell(server.bucket("site").list("nowhere"));
    await tell(server.bucket("none").list());
    await tell(server.bucket("site").list("file.txt"));
    await tell(new client.NodeServerClient(server.url, { token: ${JSON.stringify(small)} }).bucket("site").list());
    await tell(server.bucket("site").list("", { signal: AbortSignal.abort(new RangeError("left")) }));`,
    login(node),
  );
  expect(lines).toEqual([
    "FileNotFound 404",
    "FileNotFound 404",
    "FileConflict 409",
    "FileDenied 403",
    "RangeError ",
  ]);
});

const good =
  '<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n<D:response><D:href>/node/static-webdav/site/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype><D:getlastmodified>Thu, 01 Jan 1970 00:00:00 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getcontentlength/><D:getetag/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>\n<D:response><D:href>/node/static-webdav/site/a%20b</D:href><D:propstat><D:prop><D:resourcetype/><D:getcontentlength>1</D:getcontentlength><D:getlastmodified>Thu, 01 Jan 1970 00:00:00 GMT</D:getlastmodified><D:getetag>&quot;e&quot;</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n</D:multistatus>\n';

/** What a proxy, another server or a broken line might send. */
const foreign = [
  "",
  "<!doctype html><p>Sign in</p>",
  good.slice(0, good.indexOf("</D:multistatus>")),
  good.slice(0, good.length / 2),
  `${good}${good}`,
  good.replaceAll("DAV:", "DAV"),
  good.replace("&quot;e", "&unknown;e"),
  good.replace("<D:resourcetype/>", "<D:resourcetype>"),
  good.replace("a%20b", "deep/a%20b"),
  good.replace("a%20b", "%E0%A4%A"),
  good.replace("/node/static-webdav/site/a", "/elsewhere/a"),
  good.replace("site/a%20b", "site/"),
  good.replace(">1<", ">one<"),
  good.replace("<D:getetag>&quot;e&quot;</D:getetag>", ""),
  good.replace(/(a%20b.*)Thu, 01 Jan 1970/, "$1Someday"),
  good.replace("200 OK", "500 Internal Server Error"),
  '<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n</D:multistatus>\n',
];

/** The same listing, written in other ways that mean the same. */
const alike = [
  good.slice(0, -1),
  good.replaceAll("\n", ""),
  good.replaceAll(/\bD([:=])/g, "d$1"),
  good.replaceAll(/(<\/?)D:/g, "$1").replace("xmlns:D", "xmlns"),
  good
    .replace('"DAV:"', "'DAV:'")
    .replaceAll("<D:response>", '<D:response\n  xmlns:other="urn:>" other:id="&lt;1" >'),
  good
    .replace("&quot;e&quot;", '<![CDATA["e"]]>')
    .replace("<D:prop>", "<!-- <D:prop> --><?what now?><D:prop>"),
  good
    .replace("&quot;e&quot;", "&#34;e&#x22;")
    .replaceAll("<D:resourcetype/>", "<D:resourcetype ></D:resourcetype >"),
];

test("a listing means the same in whatever way its XML is written", () => {
  for (const xml of alike)
    expect(parseListing(xml, "", "http://here")).toEqual([
      { name: "a b", folder: false, size: 1, modified: new Date(0), etag: '"e"' },
    ]);
});

test(scaled("many thousand files are read from one answer"), () => {
  const count = tier === "fast" ? 20_000 : 100_000;
  const start = good.lastIndexOf("<D:response>");
  const one = good.slice(start, good.indexOf("</D:multistatus>"));
  const many = Array.from({ length: count }, (_, at) => one.replace("a%20b", `file%20${at}`)).join("");
  const entries = parseListing(`${good.slice(0, start)}${many}</D:multistatus>`, "", "http://here");
  expect(new Set(entries.map(({ name }) => name)).size).toBe(count);
});

eachRuntime("a listing that no node-server would send is refused, not guessed at", async (runtime) => {
  await using standIn = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const at = Number(new URL(request.url).pathname.split("/").at(-1));
      return new Response(foreign[at] ?? good, { status: at === 500 ? 200 : 207 });
    },
  });
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `const files = server.bucket("site");
    for (let at = 0; at < ${foreign.length}; at += 1)
      await files.list(String(at)).then((found) => console.log(at, found), (error) => console.log(error.name));
    console.log(JSON.stringify(await files.list("999")));
    await files.list("500").catch((error) => console.log(error.name));`,
    { url: standIn.url.origin },
  );
  expect(lines).toEqual([
    ...foreign.map(() => "NotNodeServer"),
    '[{"name":"a b","folder":false,"size":1,"modified":"1970-01-01T00:00:00.000Z","etag":"\\"e\\""}]',
    "NotNodeServer",
  ]);
});

eachRuntimeAndStore("an editor does not overwrite what somebody else saved", async (runtime, store) => {
  await using node = await nodeWithBucket(store);
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `const files = server.bucket("site");
    const tell = (work) => work.then(() => console.log("saved"), (error) => console.log(error.name, error.status, error.message));
    await tell(files.upload("a.txt", "one", { onlyNew: true }));
    await tell(files.upload("a.txt", "two", { onlyNew: true }));
    const mine = (await files.open("a.txt")).headers.get("etag");
    const { etag } = await files.upload("a.txt", "mine", { ifMatch: mine });
    console.log(etag === mine, etag === (await files.list())[0].etag);
    await tell(files.upload("a.txt", "again", { ifMatch: etag }));
    await tell(files.upload("a.txt", "late", { ifMatch: etag }));
    await tell(files.upload("a.txt", new Blob(["late"]).stream(), { ifMatch: etag }));
    await files.remove("a.txt");
    await tell(files.upload("a.txt", "gone", { ifMatch: etag }));
    await tell(files.upload("a.txt", "new", { onlyNew: false }));
    console.log(await (await files.download("a.txt")).text());`,
    login(node),
  );
  const conflict = "FileConflict 412 a.txt: someone else created, changed or removed it";
  expect(lines).toEqual([
    ...["saved", conflict],
    ...["false true", "saved", conflict, conflict],
    ...[conflict, "saved", "new"],
  ]);
});

eachRuntime("a path with dots in it leads to no other bucket, by no verb", async (runtime) => {
  await using node = await nodeWithBucket();
  await node.call("static-bucket_create", [node.superToken, "other"]);
  await node.call("static-bucket-file_upload", [node.superToken, "other", "kept.txt", "kept"]);
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `const files = server.bucket("site");
    await files.upload("own.txt", "own");
    const up = "../other/kept.txt";
    const tries = {
      list: () => files.list("../other"),
      open: () => files.open(up),
      download: () => files.download(up),
      upload: () => files.upload(up, "changed"),
      makeFolder: () => files.makeFolder("../other/new"),
      remove: () => files.remove(up),
      "move from": () => files.move(up, "taken.txt"),
      "move to": () => files.move("own.txt", "./../other/own.txt"),
    };
    for (const [verb, attempt] of Object.entries(tries))
      await Promise.resolve().then(attempt).then(() => console.log(verb, "worked"), (error) => console.log(verb, error instanceof client.ClientError, /only dots/.test(error.message)));`,
    login(node),
  );
  expect(lines).toEqual(
    ["list", "open", "download", "upload", "makeFolder", "remove", "move from", "move to"].map(
      (verb) => `${verb} true true`,
    ),
  );
  const held = (await node.call("static-bucket-file_list", [node.superToken, "other"])) as { path: string }[];
  expect(held.map(({ path }) => path)).toEqual(["kept.txt"]);
});

/**
 * The least work: what a request costs in Bun if it does nothing but what the promises of node-server need. `least <port> <folder>`
 * parses the request, hashes and compares the secret, asks SQLite whether another process changed anything, makes the system calls on the
 * files (open, where it really is, read or write, rename) and builds the answer. It validates nothing, logs nothing, knows no locks and
 * no conditions, and makes every call synchronously.
 */
import { Database } from "bun:sqlite";
import { timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  writeSync,
} from "node:fs";

const [port, folder = ""] = process.argv.slice(2);

const database = new Database(`${folder}.db`, { create: true });
database.run("PRAGMA journal_mode = WAL");
const version = database.query("PRAGMA data_version");
const one = database.query("SELECT 1 AS `1`");

const tokens = new Map<string, Buffer>();

/** The first secret of a key is the right one. */
function authenticate(token: string): void {
  const [key = "", secret = ""] = token.split(":");
  const hash = Buffer.from(Bun.CryptoHasher.hash("sha256", secret, "hex"));
  version.get();
  const stored = tokens.get(key) ?? hash;
  tokens.set(key, stored);
  if (!timingSafeEqual(hash, stored)) throw new Error("another secret");
}

const json = { headers: { "content-type": "application/json", "access-control-allow-origin": "*" } };
const result = (value: string) => new Response(`{"jsonrpc":"2.0","result":${value},"id":1}`, json);

interface Call {
  readonly method: string;
  readonly params: { readonly token: string; readonly path?: string; readonly body?: string };
}

async function answerCall(request: Request): Promise<Response> {
  const { method, params } = (await request.json()) as Call;
  if (method === "node-server_hello") return result('"Node Server Is Running!"');
  authenticate(params.token);
  const path = `${folder}/${params.path}`;
  switch (method) {
    case "node-server_exec_sql":
      return result(JSON.stringify({ success: true, data: [one.get()], row_count: 1, truncated: false }));
    case "static-bucket-file_list":
      return result(
        JSON.stringify(
          entriesOf(path).map(([name, { size, mtimeMs }]) => ({ path: name, size, mtime: mtimeMs })),
        ),
      );
    case "static-bucket-file_read":
      return result(`"${read(path).content.toString("base64")}"`);
    case "static-bucket-file_upload":
      write(path, Buffer.from(params.body ?? ""));
      return result('{"success":true}');
    default:
      return result('{"success":true,"data":"sqlite"}');
  }
}

function read(path: string): { readonly content: Buffer; readonly stats: Stats } {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    assertInside(readlinkSync(`/proc/self/fd/${file}`));
    const content = Buffer.allocUnsafe(stats.size);
    readSync(file, content);
    return { content, stats };
  } finally {
    closeSync(file);
  }
}

function assertInside(real: string): void {
  if (!real.startsWith(realpathSync.native(folder))) throw new Error("outside");
}

function entriesOf(path: string): Array<[string, Stats]> {
  assertInside(realpathSync.native(path));
  return readdirSync(path, { withFileTypes: true }).map(({ name }) => [name, lstatSync(`${path}/${name}`)]);
}

let staged = 0;

/** Written beside, then renamed within a folder that is proven to be inside. */
function write(path: string, content: Uint8Array): Stats {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  const temporary = `${folder}/~${staged++}`;
  const file = openSync(temporary, "wx");
  writeSync(file, content);
  closeSync(file);
  const parent = openSync(path.slice(0, slash), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    assertInside(readlinkSync(`/proc/self/fd/${parent}`));
    const target = `/proc/self/fd/${parent}/${name}`;
    lstatSync(target, { throwIfNoEntry: false });
    renameSync(temporary, target);
    return lstatSync(target);
  } finally {
    closeSync(parent);
  }
}

const etagOf = ({ ino, size, mtimeMs }: Stats) => `"${ino}-${size}-${mtimeMs}"`;

function headersOf(stats: Stats): Record<string, string> {
  return {
    "content-type": "text/plain; charset=utf-8",
    etag: etagOf(stats),
    "last-modified": stats.mtime.toUTCString(),
    "accept-ranges": "bytes",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
  };
}

async function answerDav(request: Request, path: string): Promise<Response> {
  authenticate(Buffer.from(request.headers.get("authorization")?.slice(6) ?? "", "base64").toString());
  const place = folder + path;
  if (request.method === "PUT") {
    const stats = write(place, await request.bytes());
    return new Response(null, {
      status: 204,
      headers: { etag: etagOf(stats), "last-modified": stats.mtime.toUTCString() },
    });
  }
  if (request.method === "GET") {
    const { content, stats } = read(place);
    return new Response(content, { headers: headersOf(stats) });
  }
  const isDeep = request.headers.get("depth") === "1";
  assertInside(realpathSync.native(place));
  const own = xmlOf(path, lstatSync(place));
  const below = isDeep ? entriesOf(place).map(([name, stats]) => xmlOf(path + name, stats)) : [];
  const text = `<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:">${own}${below.join("")}</D:multistatus>`;
  return new Response(text, { status: 207, headers: { "content-type": "application/xml; charset=utf-8" } });
}

function xmlOf(path: string, stats: Stats): string {
  const kind = stats.isDirectory() ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>";
  return `<D:response><D:href>${encodeURI(path)}</D:href><D:propstat><D:prop>${kind}<D:getcontentlength>${stats.size}</D:getcontentlength><D:getcontenttype>text/plain</D:getcontenttype><D:getetag>${etagOf(stats)}</D:getetag><D:getlastmodified>${stats.mtime.toUTCString()}</D:getlastmodified><D:creationdate>${stats.birthtime.toISOString()}</D:creationdate><D:displayname>${path.slice(path.lastIndexOf("/") + 1)}</D:displayname><D:supportedlock/><D:lockdiscovery/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;
}

const cached = new Map<
  string,
  { readonly path: string; readonly etag: string; readonly blob: Blob; readonly init: ResponseInit }
>();

/** From memory after one look at the disk. */
function fromMemory(url: string): Response | undefined {
  const known = cached.get(url);
  return known !== undefined && etagOf(lstatSync(known.path)) === known.etag
    ? new Response(known.blob, known.init)
    : undefined;
}

/** Large files are sent by the kernel. */
function answerGet(url: string): Response {
  const path = folder + new URL(url).pathname;
  const stats = lstatSync(path);
  const init = { headers: headersOf(stats) };
  if (stats.size > 512 * 1024) return new Response(Bun.file(path), init);
  const blob = new Blob([read(path).content]);
  cached.set(url, { path, etag: etagOf(stats), blob, init });
  return new Response(blob, init);
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  fetch(request) {
    const known = fromMemory(request.url);
    if (known !== undefined) return known;
    if (request.method === "POST") return answerCall(request);
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/dav/")) return answerDav(request, pathname);
    return pathname === "/" ? new Response("") : answerGet(request.url);
  },
});

import type { Load } from "./load/closed-loop.ts";
import { textFrame } from "./load/frame-reader.ts";
import { type HttpRequest, httpRequest, rpcRequest, rpcText } from "./load/http-request.ts";
import { type Contender, fileName, fileSizes, KiB, ours, type Variant } from "./servers/contenders.ts";
import { hello, superToken } from "./servers/node-server.ts";

/** Job is a row of the table: one kind of request, sent to every server that can answer it. */
export interface Job {
  readonly name: string;
  /** The instance of our server that does it; peers have one for all jobs. */
  readonly variant: Variant;
  readonly protocol: Load["protocol"];
  readonly connections: number;
  /** Log subscribers that listen meanwhile. */
  readonly subscribers: number;
  /** Whether its cost is judged as a multiple of that of `hello`. */
  readonly isComparedWithHello: boolean;
  /** Whether the table shows requests per second as well. */
  readonly showsRate: boolean;
  /** The requests to send in turn; undefined if the server has no such thing. */
  requests(contender: Contender): readonly Buffer[] | undefined;
}

const connections = 16;
/** Uploads go to so many files in turn. */
const targets = 64;
export const authorization = `Basic ${Buffer.from(superToken).toString("base64")}`;
const content = Buffer.alloc(4 * KiB, "y");

function job(name: string, requests: Job["requests"], more: Partial<Job> = {}): Job {
  const usual = {
    variant: "default",
    protocol: "http",
    connections,
    subscribers: 0,
    showsRate: false,
    isComparedWithHello: name in limits,
  } as const;
  return { name, ...usual, requests, ...more };
}

/** A call of ours, once with each of the params. Methods of buckets get a token for the bucket, others the Super Token. */
function rpc(
  name: string,
  [method, ...params]: readonly [string, ...object[]],
  more: Partial<Job> = {},
): Job {
  const requests = ({ token }: Contender) =>
    token === undefined
      ? undefined
      : params.map((own) => {
          const named = { token: method.startsWith("static-bucket") ? token : superToken, ...own };
          return rpcRequest(rpcText(method, named));
        });
  return job(name, requests, more);
}

function dav(name: string, request: HttpRequest & { readonly method: string }, more: Partial<Job> = {}): Job {
  const isUpload = request.method === "PUT";
  const requests = ({ dav: folder }: Contender) =>
    !folder?.methods.includes(request.method)
      ? undefined
      : Array.from({ length: isUpload ? targets : 1 }, (_, n) =>
          httpRequest({
            ...request,
            path: `${folder.path}${request.path}${isUpload ? `/${n}.txt` : ""}`,
            headers: { authorization, ...request.headers },
          }),
        );
  return job(name, requests, more);
}

/** The same job, not for other servers. */
function oursOnly(own: Job): Job {
  return {
    ...own,
    requests: (contender) => (contender.name === ours ? own.requests(contender) : undefined),
  };
}

const sayHello: Job["requests"] = (contender) => (contender.hello ? [rpcRequest(hello)] : undefined);
const inBucket = (path: string) => ({ name: "bench", path });
const fileUpload: readonly [string, ...object[]] = [
  "static-bucket-file_upload",
  ...Array.from({ length: targets }, (_, n) => ({ ...inBucket(`dav/put/${n}.txt`), body: `${content}` })),
];
const upload = { method: "PUT", path: "/put", body: content };

/** The names that the targets refer to. */
export const rows = {
  hello: "hello",
  authenticated: "authenticated call (`get_database_type`)",
  sql: "`exec_sql`: `select 1`",
  list: "`file_list` of 10 files",
  read: "`file_read` 4 KiB",
  upload: "`file_upload` 4 KiB, not synced",
  memoryUpload: "`file_upload` 4 KiB, tmpfs",
  propfind0: "PROPFIND, depth 0",
  propfind1: "PROPFIND, depth 1, 10 files",
  davGet: "WebDAV GET 4 KiB",
  davPut: "WebDAV PUT 4 KiB, not synced",
  memoryPut: "WebDAV PUT 4 KiB, tmpfs",
} as const;

/** Calls that no other server has, beside hello: at most so many times its cost, measured in turn with it. */
export const limits: Readonly<Record<string, number>> = {
  [rows.authenticated]: 1.3,
  [rows.sql]: 5,
  [rows.list]: 3.5,
  [rows.read]: 3,
  [rows.upload]: 9,
  [rows.memoryUpload]: 9,
  [rows.propfind0]: 4,
  [rows.propfind1]: 14,
  [rows.davGet]: 3,
  [rows.davPut]: 10,
  [rows.memoryPut]: 10,
};

export const jobs: readonly Job[] = [
  ...Object.keys(fileSizes).map((size) =>
    job(`GET ${size}`, ({ files }) =>
      files === undefined ? undefined : [httpRequest({ path: `${files}/${fileName(size)}` })],
    ),
  ),
  job(rows.hello, sayHello),
  job("hello over WebSocket", ({ hello: has }) => (has ? [textFrame(hello)] : undefined), {
    protocol: "websocket",
  }),
  rpc(rows.authenticated, ["node-server_get_database_type", {}]),
  rpc(rows.sql, ["node-server_exec_sql", { sql: "select 1" }], { showsRate: true }),
  rpc("`file_list` of 8 files", ["static-bucket-file_list", inBucket("dav/eight")]),
  rpc(rows.list, ["static-bucket-file_list", inBucket("dav/ten")]),
  rpc(rows.read, ["static-bucket-file_read", inBucket("dav/ten/1.txt")]),
  oursOnly(rpc("`file_upload` 4 KiB, synced", fileUpload)),
  rpc(rows.upload, fileUpload, { variant: "unsynced" }),
  oursOnly(rpc(rows.memoryUpload, fileUpload, { variant: "in memory" })),
  dav(rows.propfind0, { method: "PROPFIND", path: "/ten/1.txt", headers: { depth: "0" } }),
  dav(rows.propfind1, { method: "PROPFIND", path: "/ten/", headers: { depth: "1" } }),
  dav(rows.davGet, { method: "GET", path: "/ten/1.txt" }),
  ...[1, 8, 32].map((clients) =>
    // Other servers do not sync what they store.
    oursOnly(
      dav(`WebDAV PUT 4 KiB, synced, ${clients} client${clients === 1 ? "" : "s"}`, upload, {
        connections: clients,
        showsRate: true,
      }),
    ),
  ),
  dav(rows.davPut, upload, { variant: "unsynced" }),
  oursOnly(dav(rows.memoryPut, upload, { variant: "in memory" })),
  ...[0, 20].map((subscribers) =>
    oursOnly(
      job(`hello with a log event, ${subscribers} subscribers`, sayHello, {
        variant: "logging",
        subscribers,
      }),
    ),
  ),
];

import { authorization } from "../jobs.ts";
import { httpRequest } from "../load/http-request.ts";

const body = Buffer.alloc(4096, "y");
/** The file that is read, in the first bucket. */
export const readPath = "small.bin";
/** Uploads go to so many names in turn. */
const names = 64;
/** The first is for reads and for uploads to one bucket; uploads to many go to all in turn. */
export const buckets = Array.from({ length: 16 }, (_, at) => `bench-${at}`);

/** ClusterJob is one kind of request, the same for every number of nodes. */
export interface ClusterJob {
  readonly name: string;
  readonly requests: readonly Buffer[];
  readonly isWrite: boolean;
}

export const leasedGet = "GET 4 KiB, at most a second old";

/** clusterJobs are the rows of the table. */
export function clusterJobs(): ClusterJob[] {
  const [first = ""] = buckets;
  const path = `/node/static/${first}/${readPath}`;
  const put = (bucket: string, at: number) =>
    httpRequest({
      method: "PUT",
      path: `${davRoot(bucket)}/put-${at}.bin`,
      headers: { authorization },
      body,
    });
  const turns = Array.from({ length: names }, (_, at) => at);
  return [
    { name: leasedGet, requests: [httpRequest({ path })], isWrite: false },
    {
      name: "GET 4 KiB with `Cache-Control: no-cache`",
      requests: [httpRequest({ path, headers: { "cache-control": "no-cache" } })],
      isWrite: false,
    },
    {
      name: "WebDAV GET 4 KiB",
      requests: [httpRequest({ path: `${davRoot(first)}/${readPath}`, headers: { authorization } })],
      isWrite: false,
    },
    { name: "PUT 4 KiB, one bucket", requests: turns.map((at) => put(first, at)), isWrite: true },
    {
      name: `PUT 4 KiB, ${buckets.length} buckets`,
      requests: turns.map((at) => put(buckets[at % buckets.length] ?? first, at)),
      isWrite: true,
    },
  ];
}

/** davRoot is where WebDAV has a bucket. */
export function davRoot(bucket: string): string {
  return `/node/static-webdav/${bucket}`;
}

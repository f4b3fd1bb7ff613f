import { authorization } from "../jobs.ts";
import { type HttpRequest, httpRequest, rpcRequest, rpcText } from "../load/http-request.ts";
import { superToken } from "../servers/node-server.ts";
import { bucket, type Content, davRoot } from "./fill.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
/** Uploads of small files go to so many names in turn. */
const targets = 64;

/** StoreJob is one kind of request, the same for every store. */
export interface StoreJob {
  readonly name: string;
  /** All of them are sent equally often: some undo what others did. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
}

interface Sizes {
  readonly uploadMiB: number;
  readonly propfind: number;
  readonly move: number;
  readonly list: number;
}

/** The amounts of a whole run and of a quick one. */
export const sizesOf = {
  full: { uploadMiB: 64, propfind: 5000, move: 10_000, list: 100_000 },
  quick: { uploadMiB: 4, propfind: 50, move: 100, list: 200 },
} satisfies Record<string, Sizes>;

const folderOf = { propfind: "propfind", move: "move-a", list: "list" };
const movedFolder = "move-b";

/** contentFor is what a bucket must contain for the jobs. */
export function contentFor({ propfind, move, list }: Sizes): Content {
  return { [folderOf.propfind]: propfind, [folderOf.move]: move, [folderOf.list]: list };
}

export const jobNames = {
  get: "GET 4 KiB",
  move: (files: number) => `MOVE of a folder with ${files.toLocaleString("en-US")} files`,
  largeUpload: (mebibytes: number) => `PUT ${mebibytes} MiB`,
};

/** storeJobs are the rows of the table. */
export function storeJobs({ uploadMiB, propfind, move, list }: Sizes): StoreJob[] {
  const small = Buffer.alloc(4 * KiB, "y");
  const count = (files: number) => files.toLocaleString("en-US");
  return [
    {
      name: jobNames.get,
      requests: [httpRequest({ path: `/node/static/${bucket}/small.bin` })],
      connections: 16,
    },
    { name: "WebDAV GET 4 KiB", requests: [davRequest("GET", "/small.bin")], connections: 16 },
    {
      name: "PUT 4 KiB, synced, 16 clients",
      requests: Array.from({ length: targets }, (_, n) =>
        davRequest("PUT", `/put-${n}.txt`, { body: small }),
      ),
      connections: 16,
    },
    {
      name: jobNames.largeUpload(uploadMiB),
      requests: [davRequest("PUT", "/large.bin", { body: Buffer.alloc(uploadMiB * MiB, "z") })],
      connections: 1,
    },
    {
      name: `PROPFIND of ${count(propfind)} files`,
      requests: [davRequest("PROPFIND", `/${folderOf.propfind}/`, { headers: { depth: "1" } })],
      connections: 1,
    },
    {
      name: jobNames.move(move),
      requests: [moveRequest(folderOf.move, movedFolder), moveRequest(movedFolder, folderOf.move)],
      connections: 1,
    },
    {
      name: `\`file_list\` of ${count(list)} files`,
      requests: [
        rpcRequest(
          rpcText("static-bucket-file_list", { token: superToken, name: bucket, path: folderOf.list }),
        ),
      ],
      connections: 1,
    },
  ];
}

export function moveRequest(from: string, to: string): Buffer {
  return davRequest("MOVE", `/${from}`, { headers: { destination: `${davRoot}/${to}` } });
}

/** davRequest is a WebDAV request of the Super Token; its path is that in the bucket. */
export function davRequest(
  method: string,
  path: string,
  { headers = {}, body }: Pick<HttpRequest, "headers" | "body"> = {},
): Buffer {
  return httpRequest({
    method,
    path: `${davRoot}${path}`,
    headers: { authorization, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

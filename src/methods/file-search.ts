import { z } from "zod";
import { inBucket } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { folderPath } from "../buckets/path.ts";
import { FileSearch } from "../buckets/search.ts";
import { method } from "./declare.ts";

const defaultResults = 100;
const maxResults = 1000;
const maxQueryChars = 200;
/** The time of one search. 100,000 files on a disk take about 2 s. */
const maxMs = 10_000;
const search = new FileSearch();

/** `fileSearch` finds files of a bucket. */
export const fileSearch = {
  "static-bucket-file_search": method({
    doc: "Finds files and folders whose path below `path` (default: the whole bucket) contains all words of `query`, in any order, case and Unicode form. A word with `*` or `?` is a pattern for the name; with a slash it is a pattern for the whole path below `path`. `size` is in bytes (0 for a folder), `mtime` in Unix milliseconds. `more` is true if there are more results, or if the search did not cover all paths. `complete` is false if it ended after 10 seconds or could not read a folder.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: {
      name: z.string().describe("the bucket"),
      query: z.string().max(maxQueryChars).describe("words, separated by spaces"),
      path: z.string().nullish().describe("a folder of the bucket"),
      limit: z.int().min(1).max(maxResults).nullish().describe(`default: ${defaultResults}`),
      offset: z.int().min(0).nullish().describe("how many results to skip, for the next page"),
    },
    logged: ["name", "path"],
    result: z.object({
      entries: z.array(
        z
          .object({ path: z.string(), kind: z.enum(["file", "folder"]), size: z.int(), mtime: z.int() })
          .meta({ id: "FoundEntry" }),
      ),
      more: z.boolean(),
      complete: z.boolean(),
      searched: z.int(),
    }),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", query: "hello" },
      result: {
        entries: [{ path: "hello.txt", kind: "file", size: 5, mtime: 1794700000000 }],
        more: false,
        complete: true,
        searched: 1,
      },
    },
    run: async ({ buckets, caller, disconnected }, { name, query, path, limit, offset }) => {
      if (query.trim() === "") throw new Fault("InvalidInput", "query is empty", { field: "query" });
      const { reader } = await buckets.files(name);
      const { entries, more, complete, searched } = await search.find(reader, {
        query,
        folder: folderPath(path ?? ""),
        limit: limit ?? defaultResults,
        offset: offset ?? 0,
        maxMs,
        signal: disconnected,
        key: caller.key,
      });
      return {
        entries: entries.map(({ path, kind, stats: { size, modifiedMs } }) => ({
          path,
          kind,
          size: kind === "folder" ? 0 : size,
          mtime: Math.floor(modifiedMs),
        })),
        more,
        complete,
        searched,
      };
    },
  }),
};

import { z } from "zod";
import { globally, type Need, superToken } from "../auth/need.ts";
import { RawJson } from "../base/json.ts";
import { method } from "./declare.ts";

/** `storageSizes` is the size of each table and their sum, in bytes. */
const storageSizes = z.object({ tables: z.record(z.string(), z.int()), total: z.int() });

/** `tableSizesFor` returns the sizes to callers that meet `need`. */
const tableSizesFor = (need: Need) =>
  method({
    doc: "Returns the size of each table in bytes. On PostgreSQL this includes indexes and out-of-line storage; on SQLite it does not include indexes.",
    need,
    effect: "reads",
    params: {},
    result: storageSizes,
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { tables: { crontab: 4096, token: 8192 }, total: 12288 },
    },
    run: async ({ database }) => storageResult(await database.operator.tableSizes()),
  });

/** `nodeDatabase` are the methods of the `node-server` namespace about the database and its size. */
export const nodeDatabase = {
  "node-server_get_database_type": method({
    doc: "Returns the type of the server's database.",
    need: globally("node.get_database_type"),
    effect: "reads",
    params: {},
    result: z.object({ success: z.literal(true), data: z.enum(["sqlite", "postgres", "mysql", "unknown"]) }),
    example: { params: { token: "<SUPER_TOKEN>" }, result: { success: true, data: "sqlite" } },
    run: ({ database }) => ({ success: true as const, data: database.kind }),
  }),
  "node-server_database_storage": tableSizesFor(superToken),
};

/** `storageResult` writes the JSON as text: an object would put names that look like numbers first. The migrations table is left out. */
function storageResult(sizes: ReadonlyMap<string, number>): RawJson {
  const tables = [...sizes]
    .filter(([name]) => name !== "seaql_migrations")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const members = tables.map(([name, bytes]) => `${JSON.stringify(name)}:${bytes}`);
  return new RawJson(
    `{"tables":{${members.join(",")}},"total":${tables.reduce((sum, [, bytes]) => sum + bytes, 0)}}`,
  );
}

/** `storage` is the namespace `storage`: the sizes for tokens that may read them and nothing else. */
export const storage = { storage_read: tableSizesFor(globally("node.read_storage")) };

import { globally } from "../auth/need.ts";
import { method } from "./declare.ts";
import { storageResult, storageSizes } from "./node-database.ts";

/** `storage` is the namespace `storage`: the sizes for tokens that may read them and nothing else. */
export const storage = {
  storage_read: method({
    doc: "Returns the size of each table in bytes: on PostgreSQL with its indexes and out-of-line storage, on SQLite without its indexes.",
    need: globally("node.read_storage"),
    effect: "reads",
    params: {},
    result: storageSizes,
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { tables: { crontab: 4096, token: 8192 }, total: 12288 },
    },
    run: async ({ database }) => storageResult(await database.operator.tableSizes()),
  }),
};

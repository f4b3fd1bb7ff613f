import type { Clock } from "../../src/base/clock.ts";
import { Metadata } from "../../src/buckets/metadata/metadata.ts";
import { openDialect } from "../../src/db/database.ts";
import type { Dialect } from "../../src/db/dialect.ts";
import { KvRows } from "../../src/db/rows/kv-rows.ts";
import { metadataRows } from "../../src/db/rows/metadata-rows.ts";
import { TokenRows } from "../../src/db/rows/token-rows.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";
import { type DatabaseKind, migratedDatabase, tempFolder } from "./node.ts";

export interface OpenDatabase extends AsyncDisposable {
  readonly dialect: Dialect;
  readonly rows: { readonly kv: KvRows; readonly tokens: TokenRows; readonly clock: Clock };
  metadata(bucket: string): Metadata;
}

/** A migrated database without a server. */
export async function openTestDatabase(
  kind: DatabaseKind,
  settings: { readonly max_connections?: number } = {},
): Promise<OpenDatabase> {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const dialect = await openDialect({ ...settingsFor(url), ...settings }, new LogHub());
  const rows = { kv: new KvRows(dialect), tokens: new TokenRows(dialect), clock: dialect.clock };
  return {
    dialect,
    rows,
    metadata: (bucket) => Metadata.ofBucket(bucket, metadataRows(rows)),
    async [Symbol.asyncDispose]() {
      await dialect.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

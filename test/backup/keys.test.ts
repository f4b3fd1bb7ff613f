import { expect } from "bun:test";
import { makeBackup } from "../../src/backup/make-backup.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, testNode } from "../support/node.ts";

eachDatabase("a backup has the private keys of certificates only if somebody asks for them", async (kind) => {
  await using node = await testNode({ database: kind });
  await node.sql(
    `INSERT INTO kv (namespace, key, value) VALUES ('tls/keys', 'shop.example.com.pem', '"sealed"')`,
  );
  const textOf = async (keys: boolean | undefined) => {
    const parts: Uint8Array[] = [];
    const source = {
      database: settingsFor(node.databaseUrl),
      configPath: node.configPath,
      serverUuid: undefined,
      files: undefined,
      keys,
    };
    const write = async (bytes: Uint8Array) => void parts.push(Uint8Array.from(bytes));
    await makeBackup(source, new LogHub(), { write });
    return Bun.zstdDecompressSync(Buffer.concat(parts)).toString();
  };
  expect(await textOf(undefined)).not.toContain("sealed");
  expect(await textOf(true)).toContain("sealed");
});

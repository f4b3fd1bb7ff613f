import { expect } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { metricsOf } from "../support/metrics.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { untilMissing } from "../support/ready.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

eachDatabase(
  "files and bytes of an object store are counted, its losses too; it has no disk whose space is known",
  async (database) => {
    await using node = await testNode({ store: `objects over ${database}` });
    const { dav } = await webdavSite(node);
    for (const [path, body] of [
      ["/a.txt", "hello"],
      ["/b.txt", "hello again"],
      ["/empty.txt", ""],
    ] as const)
      expect((await dav("PUT", path, {}, body)).status).toBe(201);
    await until(
      "the files are counted",
      async () => {
        const of = await metricsOf(node);
        const counted = [
          of('node_server_bucket_files{bucket="site"}'),
          of('node_server_bucket_bytes{bucket="site"}'),
        ];
        return Bun.deepEquals(counted, [3, 16]);
      },
      50_000,
    );
    const before = await metricsOf(node);
    expect(before('node_server_disk_free_bytes{disk="static"}')).toBeUndefined();
    expect(before('node_server_component_up{component="store"}')).toBe(1);
    renameSync(join(node.folder, "blobs"), join(node.folder, "away"));
    await untilMissing(node, "store");
    renameSync(join(node.folder, "away"), join(node.folder, "blobs"));
    await untilMissing(node);
    const after = await metricsOf(node);
    expect(after('node_server_component_losses_total{component="store"}')).toBe(1);
  },
  120_000,
);

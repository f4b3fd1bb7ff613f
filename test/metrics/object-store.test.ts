import { expect } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { metricsOf } from "../support/metrics.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { untilMissing } from "../support/ready.ts";
import { webdavSite } from "../support/webdav.ts";

eachDatabase(
  "files and bytes of an object store are counted, its losses too; it has no disk whose space is known",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ store: `objects over ${database}`, clock });
    const { dav } = await webdavSite(node);
    for (const [path, body] of [
      ["/a.txt", "hello"],
      ["/b.txt", "hello again"],
      ["/empty.txt", ""],
    ] as const)
      expect((await dav("PUT", path, {}, body)).status).toBe(201);
    await clock.until("the files are counted", 10_000, async () => {
      const of = await metricsOf(node);
      const counted = [
        of('node_server_bucket_files{bucket="site"}'),
        of('node_server_bucket_bytes{bucket="site"}'),
      ];
      return Bun.deepEquals(counted, [3, 16]);
    });
    const before = await metricsOf(node);
    expect(before('node_server_disk_free_bytes{disk="static"}')).toBeUndefined();
    expect(before('node_server_component_up{component="store"}')).toBe(1);
    renameSync(join(node.folder, "blobs"), join(node.folder, "away"));
    // The last answer about the readiness is valid for a second.
    await clock.advance(1000);
    await untilMissing(node, "store");
    renameSync(join(node.folder, "away"), join(node.folder, "blobs"));
    await clock.advance(1000);
    await untilMissing(node);
    const after = await metricsOf(node);
    expect(after('node_server_component_losses_total{component="store"}')).toBe(1);
  },
);

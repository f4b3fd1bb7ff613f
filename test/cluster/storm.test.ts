import { expect, test } from "bun:test";
import { runStorm } from "../support/cluster/run-storm.ts";
import { hasSeaweed } from "../support/seaweed.ts";

/** `CLUSTER_STORM_SECONDS=600` is the long form. */
const seconds = Number(process.env.CLUSTER_STORM_SECONDS) || 30;
const pauseMs = Number(process.env.CLUSTER_PAUSE_MS) || 100;

for (const store of ["folder", "s3"] as const)
  test.skipIf(store === "s3" && !hasSeaweed)(
    `three nodes keep their promises while networks, nodes and PostgreSQL fail (${store})`,
    async () => {
      const share = store === "s3" ? seconds : seconds / 2;
      const result = await runStorm(`storm on ${store}`, { store, seconds: share, pauseMs });
      expect(result.violations.map(({ rule, subject }) => `${rule}: ${subject}`)).toEqual([]);
      expect(result.store.blobs).toEqual([...result.store.named]);
      // Otherwise it proved nothing.
      expect(Math.min(...result.counts)).toBeGreaterThan(seconds / 3);
      expect(Math.min(...result.told)).toBeGreaterThan(0);
      expect([result.store.damaged, result.store.lostFolders]).toEqual([[], []]);
    },
    (seconds + 180) * 1000,
  );

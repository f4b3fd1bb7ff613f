import { expect, test } from "bun:test";
import { compileMutant, type Mutation } from "../support/cluster/mutant.ts";
import { runStorm } from "../support/cluster/run-storm.ts";
import { tempFolder } from "../support/node.ts";

// Whether the storm finds known mistakes; by hand, with `CLUSTER_MUTATIONS=1`.

const seconds = Number(process.env.CLUSTER_STORM_SECONDS) || 40;

const mutants: ReadonlyArray<readonly [title: string, rule: string, mutations: readonly Mutation[]]> = [
  [
    "without FOR UPDATE",
    "lost write",
    [{ module: "db/postgres/postgres.ts", from: /raw`for update`/, to: "raw``" }],
  ],
  [
    "with records that are valid for five seconds",
    "stale read",
    [
      { module: "db/freshness.ts", from: /const maxAgeMs = 1000/, to: "const maxAgeMs = 5000" },
      { module: "buckets/bucket-cache.ts", from: /const pollMs = 400/, to: "const pollMs = 4500" },
    ],
  ],
  [
    "that forgets every fourth event of a webhook",
    "untold",
    [
      {
        module: "hooks/hooks.ts",
        from: /await database\.hooks\.add\(id, (.*), transaction\)/,
        to: "if (Math.random() > 0.25) await database.hooks.add(id, $1, transaction)",
      },
    ],
  ],
];

for (const [title, rule, mutations] of mutants)
  test.skipIf(!process.env.CLUSTER_MUTATIONS)(
    `the storm finds a server ${title}`,
    async () => {
      await using folder = await tempFolder();
      const binary = await compileMutant(folder.path, mutations);
      const { violations } = await runStorm(`storm on a server ${title}`, {
        store: "folder",
        binary,
        seconds,
        pauseMs: 30,
        hasFaults: false,
        // A hint would hide that a node does not poll by itself.
        notifies: false,
      });
      expect(violations.map((violation): string => violation.rule)).toContain(rule);
    },
    (seconds + 180) * 1000,
  );

import { until } from "../until.ts";
import type { ClusterNode } from "./cluster.ts";
import { now, type Outage } from "./history.ts";
import type { Storm } from "./storm.ts";

/** A node that is ready again after a failure relies on its database so long after that, at the latest, on a busy machine. */
const recoveryMs = 5000;

/** A fault: does its harm for about this long, and ends it. */
type Fault = (chaos: Chaos, node: ClusterNode, ms: number) => Promise<void>;

/** Faults by name. Those that keep nodes from their database are outages. */
const faults: Readonly<Record<string, Fault>> = {
  "database cut": (chaos, node, ms) =>
    chaos.outage([node], async () => {
      node.database.cut();
      await Bun.sleep(ms);
      await node.database.mend();
    }),
  "database refuses": (chaos, node, ms) =>
    chaos.outage([node], async () => {
      await node.database.refuse();
      await Bun.sleep(ms);
      await node.database.mend();
    }),
  "database silent": (chaos, node, ms) =>
    chaos.outage([node], async () => {
      node.database.silence();
      await Bun.sleep(ms);
      await node.database.mend();
    }),
  "database slow": async (_, node, ms) => {
    node.database.delay(60);
    await Bun.sleep(ms);
    await node.database.mend();
  },
  "commit cut": (chaos, node, ms) =>
    chaos.outage([node], async () => {
      node.database.cutCommit(chaos.storm.any(["before", "after", "late"]));
      await Bun.sleep(ms / 2);
    }),
  "half of all commits cut": (chaos, _, ms) => {
    const { storm } = chaos;
    const { nodes } = storm.cluster;
    const choose = () => {
      if (storm.random() < 0.5) return undefined;
      const where = storm.any(["before", "after", "late"] as const);
      return { where, ...(where === "late" && { arrival: Bun.sleep(1500 * storm.random() ** 3) }) };
    };
    return chaos.outage(nodes, async () => {
      for (const { database } of nodes) database.cutCommits(choose);
      await Bun.sleep(3000 + 2 * ms);
      for (const { database } of nodes) database.cutCommits();
    });
  },
  "no notifications": async (_, node, ms) => {
    node.database.passesNotifications = false;
    await Bun.sleep(ms);
    node.database.passesNotifications = true;
  },
  "database restarted": (chaos) =>
    chaos.outage(chaos.storm.cluster.nodes, async () => {
      await chaos.storm.cluster.postgres.halt();
      await Bun.sleep(300);
      await chaos.storm.cluster.postgres.resume();
    }),
  "database silent for all": (chaos, _, ms) => {
    const { nodes } = chaos.storm.cluster;
    return chaos.outage(nodes, async () => {
      for (const { database } of nodes) database.silence();
      await Bun.sleep(ms);
      for (const { database } of nodes) await database.mend();
    });
  },
  killed: async (_, node, ms) => {
    await node.kill();
    await Bun.sleep(ms / 2);
    await node.startAgain();
  },
  "killed and started at once": async (_, node) => {
    await node.kill();
    await node.startAgain();
  },
  paused: async (_, node, ms) => {
    node.server?.signal("SIGSTOP");
    await Bun.sleep(ms);
    node.server?.signal("SIGCONT");
  },
};

const storeFaults: Readonly<Record<string, Fault>> = {
  "store cut": async (_, { blobs }, ms) => {
    blobs?.cut();
    await Bun.sleep(ms);
    await blobs?.mend();
  },
  "store refuses": async (_, { blobs }, ms) => {
    await blobs?.refuse();
    await Bun.sleep(ms);
    await blobs?.mend();
  },
  "store silent": async (_, { blobs }, ms) => {
    blobs?.silence();
    await Bun.sleep(ms);
    await blobs?.mend();
  },
  "store slow": async (_, { blobs }, ms) => {
    blobs?.delay(100);
    await Bun.sleep(ms);
    await blobs?.mend();
  },
};

/** Chaos does harm to the nodes of a cluster, one fault after the other. */
export class Chaos {
  readonly #outages: Promise<Outage>[] = [];
  /** How often each fault was done. */
  readonly done = new Map<string, number>();

  constructor(readonly storm: Storm) {}

  /** All faults in random order, and again, until the storm is over. */
  async run(): Promise<void> {
    const { storm } = this;
    const hasStore = storm.cluster.node(0).blobs !== undefined;
    const all = Object.entries({ ...faults, ...(hasStore && storeFaults) });
    let deck: typeof all = [];
    while (!storm.isOver) {
      if (deck.length === 0)
        deck = all
          .map((fault) => [storm.random(), fault] as const)
          .sort(([a], [b]) => a - b)
          .map(([, fault]) => fault);
      const [name, harm] = deck.pop() as (typeof all)[number];
      // A node that gets plain requests alone is spared more often, so that outages do not excuse everything it answers.
      const node = storm.random() < 0.2 ? storm.anyNode() : storm.busyNode();
      await harm(this, node, 200 + 1500 * storm.random());
      this.done.set(name, (this.done.get(name) ?? 0) + 1);
      storm.quietNode = storm.random() < 0.3 ? storm.anyNode().number : storm.quietNode;
      await Bun.sleep(1000 + 1500 * storm.random());
    }
  }

  /** Resolves when the nodes have recovered from all of them. */
  get outages(): Promise<Outage[]> {
    return Promise.all(this.#outages);
  }

  async outage(nodes: readonly ClusterNode[], harm: () => Promise<void>): Promise<void> {
    const begin = now();
    // Reads that end during the harm are judged at the end, with all outages.
    await harm();
    // The next fault does not wait for it.
    for (const node of nodes)
      this.#outages.push(recovered(node).then((end) => ({ node: node.number, begin, end })));
  }
}

/** When a node has surely recovered from a failure that is over. */
async function recovered(node: ClusterNode): Promise<number> {
  await until(`node ${node.number} is ready after an outage`, () => node.isReady);
  return now() + recoveryMs;
}

import { expect, test } from "bun:test";
import type { VersionRecord } from "../../src/build.ts";
import { type BalancerProgram, openBalancer } from "../support/cluster/balancer.ts";
import { Cluster, type ClusterNode, superToken } from "../support/cluster/cluster.ts";
import { Load } from "../support/cluster/load.ts";
import { sendTo } from "../support/process.ts";
import { until } from "../support/until.ts";
import { compileVersions, Releases } from "../support/update.ts";

/** How often each story goes through all nodes; `CLUSTER_ROLLS=10` by hand. */
const rolls = Number(process.env.CLUSTER_ROLLS) || 1;
const drain = "drain_seconds = 2\n";
/** Longer than Caddy takes to see that a node is not ready, on a machine that may stop it for seconds; nginx asks another node. */
const longDrain = "drain_seconds = 15\n";

/** Work on one node after the other while clients use the cluster through a balancer: no request of theirs fails. */
async function roll(
  program: BalancerProgram,
  cluster: Cluster,
  work: (node: ClusterNode, round: number) => Promise<void>,
) {
  await using balancer = await openBalancer(program, cluster.nodes);
  if (balancer === undefined) return;
  const load = new Load(balancer.url, { calls: program === "caddy" });
  for (let round = 0; round < rolls; round += 1)
    for (const node of cluster.nodes) {
      const before = load.answers;
      await until("clients are answered", () => load.answers > before + 20);
      await work(node, round);
      await until(`node ${node.number} is ready again`, () => node.isReady, 60_000);
    }
  await load.end();
  console.log(`${program}: ${load.answers} answers during ${rolls * cluster.nodes.length} restarts`);
  expect(load.failures).toEqual([]);
}

async function restart(node: ClusterNode): Promise<void> {
  const ended = await node.server?.stop();
  expect(ended?.code).toBe(0);
  await node.start();
}

const versionOf = async ({ url }: ClusterNode) =>
  ((await sendTo(url, "node-server_version").catch(() => undefined))?.result as VersionRecord | undefined)
    ?.cargo_version;

test(
  "nodes that are restarted and updated one by one, under load, fail no request",
  async () => {
    const versions = await compileVersions();
    using releases = new Releases(versions);
    await using cluster = await Cluster.open({
      store: "folder",
      binary: versions.one.path,
      top: `${drain}release_url = "${releases.url}"\n`,
    });
    await roll("nginx", cluster, restart);
    for (const node of cluster.nodes) await node.edit((config) => config.replace(drain, longDrain));
    await roll("caddy", cluster, async (node, round) => {
      const { tag } = round % 2 === 0 ? versions.two : versions.one;
      const reply = await sendTo(node.url, "node-server_self_update", { token: superToken, tag });
      expect(reply.error).toBeUndefined();
      await until(`node ${node.number} runs ${tag}`, async () => `v${await versionOf(node)}` === tag, 60_000);
    });
  },
  180_000 + rolls * 120_000,
);

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Pace, progress } from "../figures.ts";
import { type Cores, cpuSeconds } from "../proc.ts";
import { type Bench, call, start, superToken } from "../servers/node-server.ts";
import { assertSite, changedFiles, changeSite, makeSite, type SiteSize } from "./site.ts";
import { measureSwitches, type SwitchFigure } from "./switches.ts";
import { ownWays, rcloneWays, type Way } from "./ways.ts";

export const steps = ["all of it", "again, nothing changed", `${changedFiles} files changed`] as const;

/** DeployCell are the figures of one way on one store: for each step those of all rounds, in seconds. */
export interface DeployCell {
  readonly store: string;
  readonly way: string;
  readonly rounds: readonly DeployFigure[][];
}

export interface DeployFigure {
  readonly passed: number;
  /** Processor time of the program that the user runs, and of the server. */
  readonly client: number;
  readonly server: number;
}

export interface DeployFigures {
  readonly files: number;
  readonly bytes: number;
  readonly cells: readonly DeployCell[];
  readonly switches: readonly SwitchFigure[];
}

const plans = {
  full: {
    size: { files: 5000 - changedFiles, folders: 50 },
    switched: [100, 10_000],
    rounds: 3,
    switches: 5,
  },
  quick: { size: { files: 50, folders: 10 }, switched: [10], rounds: 1, switches: 1 },
};

/**
 * measureDeploys brings a site into buckets by each way, to the same server, in turns, on both stores; and measures publications
 * and rollbacks.
 */
export async function measureDeploys(bench: Bench, cores: Cores, { quick }: Pace): Promise<DeployFigures> {
  const plan = quick ? plans.quick : plans.full;
  const folder = join(bench.folder, "deploys");
  const site = join(folder, "site");
  const bytes = await makeSite(site, plan.size);
  const cells: DeployCell[] = [];
  const switches: SwitchFigure[] = [];
  for (const [store, settings] of Object.entries(await storesIn(folder))) {
    const state = join(folder, `of ${store}`);
    await using server = await start((await bench.site(`deploys, ${store}`, settings)).program, cores.server);
    const setting = { site, port: server.port, state };
    const ways = [...ownWays(setting), ...(await rcloneWays(setting, { quick }))];
    const own = ways.map(({ name }): DeployCell => ({ store, way: name, rounds: steps.map(() => []) }));
    for (let round = 0; round < plan.rounds; round += 1) {
      // Whoever comes second finds the site in memory; so they take turns.
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        if (way.once && round > 0) continue;
        progress(`deploy, ${store}, round ${round + 1} of ${plan.rounds}: ${way.name}`);
        const at = ways.indexOf(way);
        const figures = await measureWay(way, {
          server,
          bucket: `deploy-${at}-${round}`,
          site,
          size: plan.size,
        });
        for (const [step, figure] of figures.entries()) own[at]?.rounds[step]?.push(figure);
      }
    }
    cells.push(...own);
    progress(`deploy, ${store}: publications and rollbacks`);
    switches.push(
      ...(await measureSwitches(server, {
        store,
        sizes: plan.switched,
        rounds: plan.switches,
        folder: state,
      })),
    );
    progress("");
  }
  await rm(folder, { recursive: true, force: true });
  return { files: plan.size.files + changedFiles, bytes, cells, switches };
}

/** The settings of a server, by its store. */
async function storesIn(folder: string) {
  const blobs = join(folder, "blobs");
  await mkdir(blobs, { recursive: true });
  return { "plain files": {}, objects: { files: `url = "file://${encodeURI(blobs)}"` } };
}

interface WayOptions {
  readonly server: { readonly port: number; readonly pid: number };
  readonly bucket: string;
  readonly site: string;
  readonly size: SiteSize;
}

/** One way with a new bucket, step by step. */
async function measureWay(
  way: Way,
  { server: { port, pid }, bucket, site, size }: WayOptions,
): Promise<DeployFigure[]> {
  const figures: DeployFigure[] = [];
  await call(port, "static-bucket_create", [superToken, bucket]);
  for (const step of steps.keys()) {
    if (step === steps.length - 1) await changeSite(site, bucket);
    const begin = performance.now();
    const before = cpuSeconds(pid);
    const client = await way.run(bucket);
    const server = cpuSeconds(pid) - before;
    figures.push({ passed: (performance.now() - begin) / 1000, client, server });
  }
  await assertSite(port, { bucket, version: bucket, size });
  return figures;
}

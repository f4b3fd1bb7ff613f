import { join } from "node:path";
import { binary, call, superToken } from "../servers/node-server.ts";
import type { Running } from "../servers/program.ts";
import { finish } from "../servers/program.ts";
import { changeSite, makeSite } from "./site.ts";
import { ownEnvironment } from "./ways.ts";

/** SwitchFigure is how long publications and rollbacks took, in milliseconds. */
export interface SwitchFigure {
  readonly store: string;
  readonly files: number;
  readonly published: number[];
  readonly back: number[];
}

export interface SwitchOptions {
  readonly store: string;
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** A folder for the sites, and for what the commands keep. */
  readonly folder: string;
}

/** measureSwitches measures how long the calls take that publish a deploy of a given size, and roll it back. The deploy is made before. */
export async function measureSwitches(
  { port }: Running,
  { store, sizes, rounds, folder }: SwitchOptions,
): Promise<SwitchFigure[]> {
  const figures: SwitchFigure[] = [];
  for (const files of sizes) {
    const bucket = `files-${files}`;
    const site = join(folder, bucket);
    const prepare = async (...more: string[]) => {
      const command = [binary, "deploy", site, bucket, "--json", ...more];
      const out = await finish(command, ownEnvironment({ port, state: folder }));
      return (JSON.parse(out) as { deploy: string }).deploy;
    };
    await makeSite(site, { files, folders: 50 });
    await call(port, "static-bucket_create", [superToken, bucket]);
    await prepare();
    const figure: SwitchFigure = { store, files, published: [], back: [] };
    const own = { token: superToken, name: bucket };
    for (let round = 0; round < rounds; round += 1) {
      await changeSite(site, `round ${round}`);
      const deploy = await prepare("--preview");
      figure.published.push(
        await timed(() => call(port, "static-bucket_deploy_publish", { ...own, deploy })),
      );
      figure.back.push(await timed(() => call(port, "static-bucket_deploy_rollback", own)));
    }
    figures.push(figure);
  }
  return figures;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

import { expect } from "bun:test";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { distinctBytes, resumable, sha256Of } from "../support/resumable.ts";
import { until } from "../support/until.ts";
import { deploySite, openGate } from "./deploy-site.ts";

story("a push of a large file that was ended by Ctrl+C is continued by the next one", async () => {
  await using site = await deploySite();
  const { local, node } = site;
  const bytes = distinctBytes(40_000_000, 11);
  await Bun.write(join(local, "film.bin"), bytes);
  const held = Promise.withResolvers<void>();
  const patches: string[] = [];
  await using gate = await openGate(node.url, async (what) => {
    if (!what.startsWith("PATCH ")) return;
    patches.push(what);
    if (patches.length === 2) await held.promise;
  });
  const pushing = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site");
  await until("the second part is on its way", () => patches.length === 2);
  expect((await pushing.stop("SIGINT")).code).toBe(130);
  held.resolve();
  const { unfinished } = resumable(node.url, node.superToken);
  const [left] = await unfinished("site/");
  expect(Number(left?.offset)).toBeGreaterThanOrEqual(16 * 1024 * 1024);
  patches.length = 0;
  const { exited } = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site", "--json");
  const { code, stdout } = await exited;
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { uploaded: 1, failed: [] }]);
  expect(patches.length).toBeLessThan(3);
  expect(sha256Of(await Bun.file(join(node.folder, "static/site/film.bin")).bytes())).toBe(sha256Of(bytes));
});

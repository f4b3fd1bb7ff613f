import { afterAll, beforeAll } from "bun:test";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { quietPort } from "../support/installed.ts";
import { PageRun, serviceStandIns } from "../support/page-story.ts";
import { administrate, freePort, stoppablePostgres } from "../support/postgres.ts";
import { story } from "../support/process.ts";
import { hasSeaweed, seaweedOptions } from "../support/seaweed.ts";
import { findProgram } from "../support/tools.ts";
import { compileMs, compileVersions, type Versions } from "../support/update.ts";

let versions: Versions;
let postgres: Awaited<ReturnType<typeof stoppablePostgres>>;
beforeAll(async () => {
  versions = await compileVersions();
  postgres = await stoppablePostgres();
}, compileMs);
afterAll(() => postgres[Symbol.asyncDispose]());

/** Runs the statements of psql's -c as the owner of the test's PostgreSQL, without the account `postgres`. */
const psql = (server: string) => `#!/bin/sh
exec '${process.execPath}' -e '
  const sql = new Bun.SQL("${server}/postgres", { max: 1 });
  for (const statement of process.argv.slice(1).filter((word) => word !== "-c")) await sql.unsafe(statement);
  await sql.close();
' -- "$@"
`;

// Stand-ins: sudo and psql, because PostgreSQL runs without its account; weed, the real one with ports that are free.
story(
  "the commands and configurations of docs/cluster.md do what the page says",
  async () => {
    if (!hasSeaweed || findProgram("docs/cluster.md", "caddy") === undefined) return;
    const server = postgres.url.replace(/\/node$/, "");
    await administrate(server, "DROP DATABASE node");
    const folder = join(versions.folder, crypto.randomUUID());
    await mkdir(folder);
    const seaweed = await seaweedOptions(folder);
    await using leaves = new AsyncDisposableStack();
    for (const path of seaweed.leaves) leaves.defer(() => rm(path, { force: true }));
    const nodes = [await quietPort(), await quietPort(), await quietPort()];
    const [balancer, releases] = [await quietPort(), await quietPort()];
    await using page = await PageRun.open({
      page: "cluster.md",
      pairs: [
        ["127.0.0.1:5432", new URL(server).host],
        ["127.0.0.1:8333", `127.0.0.1:${seaweed.port}`],
        ...nodes.map((port, at) => [String(2211 + at), String(port)] as const),
        ["listen 8080", `listen 127.0.0.1:${balancer}`],
        [":8080", `:${balancer}`],
        ["127.0.0.1:2250", `127.0.0.1:${releases}`],
        // Two versions that the tests have, and less patience.
        ["v0.3.0 --yes", "v2.0.0 --yes --watch 1"],
        ["v0.3.0", "v2.0.0"],
        ["drain_seconds = 10", "drain_seconds = 1"],
      ],
      standIns: {
        sudo: serviceStandIns.sudo,
        psql: psql(server),
        weed: `#!/bin/sh\nexec '${Bun.which("weed")}' "$@" ${seaweed.options.join(" ")}\n`,
      },
      // Where Caddy listens for its administrator.
      env: { CADDY_ADMIN: `127.0.0.1:${await freePort()}` },
    });
    const program = page.file("bin/node-server");
    await rm(program);
    await symlink(versions.one.path, program);
    await page.runBlocks({
      "node-server init": {
        after: async (printed) => {
          page.input = `${/^Super Token: (\S+)$/m.exec(printed)?.[1]}\n`;
        },
      },
      "bind 127.0.0.1\n": { savedAs: "Caddyfile" },
      "node-server release-server": {
        before: () => page.shell(`ln -s '${versions.releasesFolder}' releases`),
      },
      terminationGracePeriodSeconds: { provenBy: "scripts/balancers.test.ts" },
      "migrate --to 'postgres": {
        async before() {
          await administrate(server, "CREATE DATABASE shared OWNER node");
          await page.shell(`mkdir single; cd single; node-server init; sed '1,/^.files.$/d' ../n1/config.toml | grep -v ^url > s3
          sed -i '/^.files.$/r s3' config.toml`);
        },
      },
    });
    // Three nodes, a store and a balancer, a rolling restart, and a rolling update of 120 MB a node.
  },
  240_000,
);

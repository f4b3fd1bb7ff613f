import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bothBinaries, type Installation, install, type Program, token } from "../support/installed.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { compileMs, compileVersions, digestOf, Releases, script, type Versions } from "../support/update.ts";

const count = 2;
/** The limit of stories in which the processes are replaced one after another, each by a new start of a binary. */
const replacedMs = 90_000;
let versions: Versions;
let releases: Releases;
let database: Awaited<ReturnType<typeof newPostgresDatabase>>;
let home: Installation;
let server: Program;

/** Waits longer than a story of one process does: an update starts the processes one after another, each from a new binary. */
function eventually(what: string, look: () => boolean | Promise<boolean>): Promise<unknown> {
  return until(what, look, 60_000);
}

beforeAll(async () => {
  versions = await compileVersions();
  releases = new Releases(versions);
  database = await newPostgresDatabase();
  const top = 'enable_unix_socket = true\nunix_socket_path = "node.sock"\n';
  home = await install(versions, { releases, databaseUrl: database.url, top });
  await mkdir(join(home.path, "blobs"));
  const env = { NODE_SERVER_FILES_URL: `file://${home.path}/blobs` };
  server = home.launch(["serve", "--processes", String(count)], env);
  await server.says(/listening on http/);
}, compileMs);

afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await database?.drop();
  releases?.[Symbol.dispose]();
});

/** The version of each process, by its number. */
async function running(): Promise<Record<string, string>> {
  const response = await fetch(`${server.url}/node/metrics`, {
    headers: { authorization: `Bearer ${token}` },
    keepalive: false,
  });
  const text = await response.text();
  const found = [...text.matchAll(/^node_server_build_info\{version="([^"]+)".*process="(\d)"\} 1$/gm)];
  return Object.fromEntries(found.map(([, version = "", number = ""]) => [number, version]));
}

const all = (version: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [at + 1, version]));

async function untilAllRun(version: string): Promise<void> {
  await eventually(`all run ${version}`, async () =>
    Bun.deepEquals(await running().catch(() => undefined), all(version)),
  );
}

test(
  "a version that cannot start is tried in one process, and rolled back before the others are touched",
  async () => {
    const config = join(home.path, "config.toml");
    const text = await readFile(config, "utf8");
    // Only new processes read it: this is what they fail at. The test of the new binary has a configuration of its own.
    await writeFile(config, text.replace("enable_unix_socket = true", "enable_unix_socket = 5"));
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    await server.says(/version 2\.0\.0 failed to start twice; going back to 1\.0\.0/);
    // The old processes serve all the time.
    expect(await server.version()).toBe("1.0.0");
    await writeFile(config, text);
    await server.says(/an update was rolled back because it did not start/);
    await untilAllRun("1.0.0");
    await eventually("the replacement is in the log", () => /process \d was replaced/.test(server.stderr));
    expect(server.stderr.match(/process \d was replaced/g)).toHaveLength(1);
    expect(home.files()).toEqual(bothBinaries);
    expect(await digestOf(home.binary)).toBe(versions.one.digest);
  },
  replacedMs,
);

test(
  "a binary that cannot even be run is put aside, and the old one goes on",
  async () => {
    const lines = `if [ -n "$NODE_SERVER_SMOKE_TEST" ]; then exec ${versions.two.path} "$@"; fi; exit 1`;
    releases.answer = ({ url }) =>
      url.includes("v2.5.0")
        ? new Response(script({ ...versions.record, cargo_version: "2.5.0" }, lines))
        : undefined;
    const from = server.stderr.length;
    expect(await server.update("v2.5.0")).toMatchObject({ result: null });
    await eventually("it is put aside", () =>
      server.stderr.slice(from).includes("the new binary could not be run"),
    );
    await eventually("a process of the old one is new", () =>
      /process \d was replaced/.test(server.stderr.slice(from)),
    );
    await untilAllRun("1.0.0");
    expect(await digestOf(home.binary)).toBe(versions.one.digest);
  },
  replacedMs,
);

test(
  "an update by one process reaches all of them, one after the other, and the address is served all the time",
  async () => {
    const from = server.stderr.length;
    let isDone = false;
    let answers = 0;
    const asking = (async () => {
      while (!isDone) {
        // The kernel resets connections that a closing listener has not accepted yet; a client asks again.
        const answer = (await server.version()) ?? (await server.version());
        expect(answer).toBeDefined();
        answers += 1;
        await Bun.sleep(5);
      }
    })();
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    await untilAllRun("2.0.0");
    await eventually(
      "both were replaced",
      () => server.stderr.slice(from).match(/was replaced/g)?.length === count,
    );
    isDone = true;
    await asking;
    expect(answers).toBeGreaterThan(10);
    await eventually("the update is in the log", () => server.stderr.slice(from).includes("update done"));
    expect(server.stderr.slice(from).match(/update done/g)).toHaveLength(1);
    expect(await digestOf(home.binary)).toBe(versions.two.digest);
    // The new first process has the Unix socket.
    const reply = await fetch("http://localhost/node/health", { unix: join(home.path, "node.sock") });
    expect(await reply.json()).toMatchObject({ version: "2.0.0" });
    await eventually("the old ones have ended", async () => {
      const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, "utf8");
      return children.trim().split(" ").length === count;
    });
    expect((await server.end("SIGTERM")).code).toBe(0);
  },
  replacedMs,
);

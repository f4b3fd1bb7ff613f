import { beforeAll, expect } from "bun:test";
import { statSync } from "node:fs";
import { smokeTestVariable } from "../../src/update/smoke-test.ts";
import { halfCall } from "../support/half-call.ts";
import {
  bothBinaries,
  expectNoRestart,
  type Installation,
  install,
  justTheBinary,
  lateRestart,
  type Program,
  token,
  updateStory,
} from "../support/installed.ts";
import { until, within } from "../support/until.ts";
import { compileMs, compileVersions, digestOf, Releases, script, type Versions } from "../support/update.ts";

let versions: Versions;
/** Releases that say the right version when asked and fail when they are to serve. */
const broken = { noDatabase: "", noConfig: "", crashes: "" };
beforeAll(async () => {
  versions = await compileVersions();
  // At its smoke test each of them plays its part.
  const failing = (name: string, deed = 'throw new Error("this version cannot do that");') =>
    `export function ${name}(...given) { if (process.env.${smokeTestVariable} !== undefined) return real.${name}(...given); ${deed} }`;
  broken.noDatabase = await versions.compileBroken("2.1.0", "db/database.ts", failing("openDatabase"));
  broken.noConfig = await versions.compileBroken("2.2.0", "config/parse.ts", failing("parseConfig"));
  broken.crashes = await versions.compileBroken("2.3.0", "node.ts", failing("openNode", "process.exit(1);"));
}, compileMs);

/** The old version serves, the log tells of the broken one, and nothing is left of it. */
async function expectTakenBack(home: Installation, server: Program, failed: string): Promise<void> {
  await server.runs(versions.one);
  // It answers a little before it tells.
  const errors = await until("the log tells of the broken one", async () => {
    const found = (await server.log()).filter(({ level }) => level === "ERROR");
    return found.length > 0 && found;
  });
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.stringMatching(/rolled back/),
      fields: { event: "update.reverted", failed, running: "1.0.0" },
    }),
  ]);
  expect(home.files()).toEqual(bothBinaries);
  expect(await digestOf(home.binary)).toBe(versions.one.digest);
  expect(statSync(`${home.binary}.old`).ino).toBe(statSync(versions.one.path).ino);
}

async function expectGoodUpdate(home: Installation, server: Program): Promise<void> {
  expect(await server.update("v2.0.0")).toMatchObject({ result: null });
  await server.runs(versions.two);
  await until("the new version has confirmed itself", () => home.files().length === 2);
  expect(home.files()).toEqual(bothBinaries);
}

/** Releases of which those above 2.0.0 are `path`. */
function releasesWith(path: string): Releases {
  const releases = new Releases(versions);
  releases.answer = ({ url }) => (/tag=v2\.[1-9]/.test(url) ? new Response(Bun.file(path)) : undefined);
  return releases;
}

for (const [what, version, path] of [
  ["cannot open the database", "2.1.0", () => broken.noDatabase],
  ["rejects the configuration", "2.2.0", () => broken.noConfig],
] as const)
  updateStory(`a new version that ${what} gives way to the old one, in the same process`, async () => {
    using releases = releasesWith(path());
    await using home = await install(versions, { releases });
    const server = await home.serve();
    const made = (await server.call("token_create", [token, { token_limit: [] }])) as { key: string };
    expect(await server.update(`v${version}`)).toMatchObject({ result: null });
    await server.says(/did not start: .*cannot do that/);
    await server.says(/failed to start twice; going back to 1\.0\.0/);
    await expectTakenBack(home, server, version);
    expect(JSON.stringify(await server.call("token_list_all_tokens", [token]))).toContain(made.key);
    if (version === "2.1.0") await expectGoodUpdate(home, server);
  });

updateStory("`update` of a running server says that the new version was taken back", async () => {
  using releases = releasesWith(broken.noDatabase);
  await using home = await install(versions, { releases });
  const server = await home.serve();
  const { code, stdout, stderr } = await home.run(["update", "--tag", "v2.1.0"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("the update was rolled back: it runs 1.0.0 again");
  await expectTakenBack(home, server, "2.1.0");
});

updateStory("a new version that crashes is started twice; the third start is the old version", async () => {
  using releases = releasesWith(broken.crashes);
  await using home = await install(versions, { releases });
  const first = await home.serve();
  expect(await first.update("v2.3.0")).toMatchObject({ result: null });
  expect(await within("it crashes", first.exited)).toMatchObject({ code: 1 });
  const second = home.launch();
  expect(await within("it crashes again", second.exited)).toMatchObject({ code: 1 });
  const third = await home.serve();
  await expectTakenBack(home, third, "2.3.0");
});

updateStory("a new version that fails at `serve` is found out before it is put into place", async () => {
  using releases = new Releases(versions);
  releases.answer = ({ url }) =>
    url.includes("v2.4.0") ? new Response(script({ ...versions.record, cargo_version: "2.4.0" })) : undefined;
  await using home = await install(versions, { releases });
  const server = await home.serve();
  expect((await server.update("v2.4.0")).error?.message).toMatch(/the release does not work here/);
  await expectNoRestart(server);
  expect(home.files()).toEqual(justTheBinary);
  expect(await server.version()).toBe("1.0.0");
});

updateStory(
  "a stopped server whose new version fails comes up as the old one, a failed update in between or not",
  async () => {
    using releases = releasesWith(broken.noDatabase);
    await using home = await install(versions, { releases });
    expect(await home.run(["update", "--tag", "v2.1.0"])).toMatchObject({ code: 0 });
    expect(await home.run(["update", "--tag", "v9.9.9"])).toMatchObject({ code: 1 });
    const server = home.launch();
    await server.says(/going back to 1\.0\.0/);
    await expectTakenBack(home, server, "2.1.0");
  },
);

updateStory(
  "kill -9 while a failing version is on trial ends with the old version all the same",
  async () => {
    using releases = releasesWith(broken.noDatabase);
    await using home = await install(versions, { releases });
    const first = await home.serve();
    expect(await first.update("v2.1.0")).toMatchObject({ result: null });
    await first.says(/did not start/);
    await first.end("SIGKILL");
    const second = home.launch();
    await second.says(/going back to 1\.0\.0/);
    await second.end("SIGKILL");
    const third = await home.serve();
    await expectTakenBack(home, third, "2.1.0");
  },
);

updateStory("a stop that is asked for while the restart waits for a call is a stop", async () => {
  using releases = new Releases(versions);
  await using home = await install(versions, { releases, top: lateRestart });
  const server = await home.serve();
  expect(await server.update("v2.0.0")).toMatchObject({ result: null });
  using _call = await halfCall({ host: "127.0.0.1", port: Number(new URL(home.url).port) });
  await server.says(/restarting into the new binary/);
  server.signal("SIGTERM");
  expect(await within("the server ends", server.exited)).toMatchObject({ code: 0 });
});

updateStory(
  "two `update` commands at once on a stopped server leave one new binary and the old one beside it",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases });
    const ended = await Promise.all([home.run(["update"]), home.run(["update"])]);
    expect(ended.map(({ code }) => code)).toContain(0);
    expect(await digestOf(home.binary)).toBe(versions.two.digest);
    expect(await digestOf(`${home.binary}.old`)).toBe(versions.one.digest);
    await home.serve();
    await until("the new version has confirmed itself", () => home.files().length === 2);
    expect(home.files()).toEqual(bothBinaries);
  },
);

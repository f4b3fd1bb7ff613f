import { beforeAll, expect } from "bun:test";
import { statSync } from "node:fs";
import {
  bothBinaries,
  expectInPlace,
  expectNoRestart,
  furnish,
  install,
  justTheBinary,
  lateRestart,
  token,
  updateStory,
} from "../support/installed.ts";
import { hello } from "../support/process.ts";
import { until, within } from "../support/until.ts";
import { compileVersions, Releases, type Versions } from "../support/update.ts";

let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, 60_000);

updateStory(
  "an update goes up and down again: same process, same tokens and files, the old binary beside the new one",
  async () => {
    using releases = new Releases(versions);
    const { one, two } = versions;
    await using home = await install(versions, { releases, top: lateRestart });
    await home.put(one, 0o775);
    const server = await home.serve();
    const expectFurnished = await furnish(server);
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      expect(await server.update(to.tag)).toMatchObject({ result: null });
      const audit = new RegExp(`INFO audit: .*update requested .*address=127\\.0\\.0\\.1 tag=${to.tag}\n`);
      await until("the update is in the audit", () => audit.test(server.stderr));
      // Asked first: reading two binaries may take longer than the time until the restart.
      expect(await server.version()).toBe(from.tag.slice(1));
      await expectInPlace(home, to, from);
      await server.runs(to);
      await until("the new version has confirmed itself", () => home.files().length === 2);
      expect(home.files()).toEqual(bothBinaries);
      await expectInPlace(home, to, from);
      expect(statSync(home.binary).mode & 0o777).toBe(0o775);
      await expectFurnished();
      const log = await server.log();
      expect(log.find(({ message }) => message === "update done")).toMatchObject({
        level: "INFO",
        fields: { from: from.tag.slice(1), to: to.tag.slice(1) },
      });
    }
    server.signal("SIGTERM");
    await server.says(/stopping on SIGTERM/);
    // The second one ends the draining.
    expect((await server.end("SIGTERM")).code).toBe(0);
    expect(server.stderr).not.toMatch(/Warning/);
  },
);

updateStory("an update to the version that runs answers null and does nothing at all", async () => {
  using releases = new Releases(versions);
  let asked = 0;
  releases.answer = () => {
    asked += 1;
    return undefined;
  };
  await using home = await install(versions, { releases });
  const server = await home.serve();
  await using socket = await server.socket();
  expect(await server.update("v1.0.0")).toMatchObject({ result: null });
  const greeted = within("the socket is still served", socket.call("node-server_hello"));
  expect(await greeted).toMatchObject({ result: hello });
  expect(asked).toBe(0);
  expect(home.files()).toEqual(justTheBinary);
  await expectNoRestart(server);
});

updateStory("only the Super Token updates, only to a tag, and only where releases are known", async () => {
  await using home = await install(versions);
  const server = await home.serve();
  const { key, secret } = (await server.call("token_create", [
    token,
    { token_limit: [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }] },
  ])) as { key: string; secret: string };
  expect(await server.update("v2.0.0", `${key}:${secret}`)).toMatchObject({
    error: { code: 102, message: "Permission Denied: Super token required" },
  });
  for (const tag of [
    "1.2.3",
    "v1.2",
    "v1.2.3-rc1",
    "v1.2.3.4",
    " v1.2.3",
    "",
    "v1.2.3\n",
    "V1.2.3",
    "v1.-2.3",
  ])
    expect({ tag, ...(await server.update(tag)) }).toMatchObject({
      tag,
      error: { code: 108, message: expect.stringMatching(/^InvalidInput: /), data: { field: "tag" } },
    });
  expect((await server.update("v2.0.0")).error?.message).toMatch(/release_url/);
  expect(home.files()).toEqual(justTheBinary);
});

import { beforeAll, expect } from "bun:test";
import { statSync } from "node:fs";
import {
  bothBinaries,
  expectInPlace,
  expectNoRestart,
  furnish,
  install,
  justTheBinary,
  token,
  updateStory,
} from "../support/installed.ts";
import { hello } from "../support/process.ts";
import { scaled, tier } from "../support/tier.ts";
import { until, within } from "../support/until.ts";
import { compileMs, compileVersions, Releases, type Versions } from "../support/update.ts";

let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, compileMs);

/** The fast tier goes up alone; down again is the same way. */
const directions = tier === "fast" ? ["up"] : ["up", "down"];

updateStory(
  scaled(
    `an update goes ${directions.join(" and ")}: same process, same tokens and files, the old binary beside the new one`,
  ),
  async () => {
    using releases = new Releases(versions);
    const { one, two } = versions;
    await using home = await install(versions, { releases });
    await home.put(one, 0o775);
    const server = await home.serve();
    const expectFurnished = await furnish(server);
    for (const direction of directions) {
      const [from, to] = direction === "up" ? [one, two] : [two, one];
      expect(await server.update(to.tag)).toMatchObject({ result: null });
      const audit = new RegExp(`INFO audit: .*update requested .*address=127\\.0\\.0\\.1 tag=${to.tag}\n`);
      await until("the update is in the audit", () => audit.test(server.stderr));
      await server.runs(to);
      await until("the new version has confirmed itself", () => home.files().length === 2);
      expect(home.files()).toEqual(bothBinaries);
      await expectInPlace(home, to, from);
      expect(statSync(home.binary).mode & 0o777).toBe(0o775);
      await expectFurnished();
      const log = await server.log();
      expect(log.find(({ fields }) => fields.event === "update.completed")).toMatchObject({
        level: "INFO",
        fields: { from: from.tag.slice(1), to: to.tag.slice(1) },
      });
    }
    expect((await server.end("SIGTERM")).code).toBe(0);
    expect(server.stderr).not.toMatch(/Warning/);
  },
);

updateStory(
  "only the Super Token updates, only to a tag that does not run, and only where releases are known",
  async () => {
    await using home = await install(versions);
    const server = await home.serve();
    // The version that runs is not even asked for: no address of releases is known.
    await using socket = await server.socket();
    expect(await server.update("v1.0.0")).toMatchObject({ result: null });
    const greeted = within("the socket is still served", socket.call("node-server_hello"));
    expect(await greeted).toMatchObject({ result: hello });
    const { key, secret } = (await server.call("token_create", [
      token,
      { token_limit: [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }] },
    ])) as { key: string; secret: string };
    expect(await server.update("v2.0.0", `${key}:${secret}`)).toMatchObject({
      error: { code: 102 },
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
        error: { code: 108, data: { field: "tag" } },
      });
    expect((await server.update("v2.0.0")).error?.data).toMatchObject({ reason: "release_url_missing" });
    expect(home.files()).toEqual(justTheBinary);
    await expectNoRestart(server);
  },
);

import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { build } from "../../src/build.ts";
import { User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";

/** Names `version` as the newest release. */
function releasesWith(version: string) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === "/latest" ? new Response(`v${version}\n`) : new Response("", { status: 404 }),
  });
}

story("update --check names a newer release, as text and as JSON, and changes nothing", async () => {
  await using user = await User.open();
  const check = async (version: string, ...args: string[]) => {
    await using releases = releasesWith(version);
    await mkdir(user.file(version), { recursive: true });
    await writeFile(user.file(`${version}/config.toml`), configFor(releases.url));
    return await user.does(["update", "--check", "-c", `${version}/config.toml`, ...args]);
  };
  expect(await check("99.0.1")).toStartWith(`v99.0.1 is available, ${build.cargo_version} is running`);
  expect(JSON.parse(await check("99.0.1", "--json"))).toEqual({
    current: build.cargo_version,
    latest: "99.0.1",
    newer: true,
  });
  expect(await check(build.cargo_version)).toBe(
    `${build.cargo_version} is running; there is no newer release\n`,
  );
  expect(JSON.parse(await check(build.cargo_version, "--json"))).toMatchObject({ newer: false });
});

story("update --all without a tag takes the newest release that the server knows", async () => {
  await using releases = releasesWith(build.cargo_version);
  await using node = await testNode({ top: `release_url = "${releases.url}"` });
  await using user = await User.open();
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const { code, stdout, stderr } = await user.run(["update", "--all", "--yes"], { env });
  expect([code, stdout, stderr]).toEqual([
    0,
    `1 of 1 nodes run v${build.cargo_version} now\n`,
    expect.any(String),
  ]);
  expect(stderr).toContain(`the newest release is v${build.cargo_version}\n`);
});

story("update --all without a tag says to name one if the server knows no release", async () => {
  await using node = await testNode();
  await using user = await User.open();
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const { code, stderr } = await user.run(["update", "--all", "--yes"], { env });
  expect(code).toBe(1);
  expect(stderr).toContain("--tag vX.Y.Z");
});

const configFor = (releases: URL) =>
  `ws_listener = "127.0.0.1:0"\nserver_uuid = "auto_gen"\nrelease_url = "${releases}"\n[logging]\n[database]\ndatabase_url = "sqlite://node.db?mode=rwc"\n`;

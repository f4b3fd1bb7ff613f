import { expect, test } from "bun:test";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveServerUuid } from "../../src/config/server-uuid.ts";
import { openNode } from "../../src/node.ts";
import { configText, initDatabase, tempFolder, testNode } from "../support/node.ts";

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test("a UUID from the configuration is answered, in lower case, and nothing is kept", async () => {
  await using node = await testNode({ top: 'server_uuid = "7C9E6679-7425-40DE-944B-E07FC1F90AE7"\n' });
  expect(await node.call("node-server_uuid")).toBe("7c9e6679-7425-40de-944b-e07fc1f90ae7");
  expect(await readdir(node.folder)).not.toContain("config.uuid");
});

test("auto_gen is made once and stays across restarts, reloads, rewritten configurations and another database", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  const first = configText(`sqlite://${folder.path}/one/node.db?mode=rwc`, {
    top: 'server_uuid = "auto_gen"\n',
  });
  await writeFile(configPath, first);
  const options = { configPath, workingDirectory: folder.path, env: { RUST_LOG: "off" }, show: () => {} };
  const node = await openNode(options);
  const uuid = await uuidOf(node.url);
  expect(uuid).toMatch(uuidForm);
  expect(await readFile(configPath, "utf8")).toBe(first);

  const second = `sqlite://${folder.path}/two/node.db?mode=rwc`;
  await initDatabase(second, `sameEverywhere00:${"sameEverywhere00".repeat(2)}`);
  await writeFile(configPath, configText(second));
  expect(await node.reload()).toBe("applied");
  expect(await uuidOf(node.url)).toBe(uuid);
  await node.close();

  await using again = await openNode(options);
  expect(await uuidOf(again.url)).toBe(uuid);
  expect(await readFile(join(folder.path, "config.uuid"), "utf8")).toBe(`${uuid}\n`);
});

test("a UUID set later wins over the one that was made, and taking it back brings the old one back", async () => {
  await using node = await testNode();
  const made = await node.call("node-server_uuid");
  await writeFile(
    node.configPath,
    configText(node.databaseUrl, { top: 'server_uuid = "00000000-0000-4000-8000-000000000001"\n' }),
  );
  expect(await node.node.reload()).toBe("applied");
  expect(await node.call("node-server_uuid")).toBe("00000000-0000-4000-8000-000000000001");
  await writeFile(node.configPath, configText(node.databaseUrl));
  expect(await node.node.reload()).toBe("applied");
  expect(await node.call("node-server_uuid")).toBe(String(made));
});

test("two configurations in one folder are two servers", async () => {
  await using folder = await tempFolder();
  const one = await resolveServerUuid("auto_gen", join(folder.path, "one.toml"), undefined);
  const two = await resolveServerUuid("auto_gen", join(folder.path, "two.toml"), undefined);
  expect(one).not.toBe(two);
  expect(await resolveServerUuid("auto_gen", join(folder.path, "one.toml"), undefined)).toBe(one);
});

test("first starts at the same moment agree on one UUID, the one in the file", async () => {
  for (let round = 0; round < 10; round += 1) {
    await using folder = await tempFolder();
    const configPath = join(folder.path, "config.toml");
    const found = await Promise.all(
      Array.from({ length: 8 }, () => resolveServerUuid("auto_gen", configPath, undefined)),
    );
    expect(new Set(found)).toEqual(new Set([found[0] ?? ""]));
    expect(await readFile(join(folder.path, "config.uuid"), "utf8")).toBe(`${found[0]}\n`);
    expect(await readdir(folder.path)).toEqual(["config.uuid"]);
  }
});

test("a link to nowhere in the place of the UUID is replaced", async () => {
  await using folder = await tempFolder();
  await symlink("nowhere", join(folder.path, "config.uuid"));
  const uuid = await resolveServerUuid("auto_gen", join(folder.path, "config.toml"), undefined);
  expect(await readFile(join(folder.path, "config.uuid"), "utf8")).toBe(`${uuid}\n`);
  expect(await readdir(folder.path)).toEqual(["config.uuid"]);
});

test("where the configuration's folder cannot be written, the UUID is kept beside the database", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "absent", "config.toml");
  const databaseFile = join(folder.path, "data", "node.db");
  await mkdir(join(folder.path, "data"));
  const uuid = await resolveServerUuid("auto_gen", configPath, databaseFile);
  expect(await readFile(join(folder.path, "data", "config.uuid"), "utf8")).toBe(`${uuid}\n`);
  expect(await resolveServerUuid("auto_gen", configPath, databaseFile)).toBe(uuid);
});

test("where no place can be written, the refusal says what to do", async () => {
  await using folder = await tempFolder();
  const nowhere = join(folder.path, "absent", "config.toml");
  await expect(resolveServerUuid("auto_gen", nowhere, undefined)).rejects.toMatchObject({
    kind: "IoError",
    detail: expect.stringContaining("set server_uuid in the configuration"),
  });
});

test("a UUID file in upper case and with spaces around is read, one that holds something else is not replaced", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  const kept = join(folder.path, "config.uuid");
  await writeFile(kept, "  7C9E6679-7425-40DE-944B-E07FC1F90AE7 \r\n");
  expect(await resolveServerUuid("auto_gen", configPath, undefined)).toBe(
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  );
  for (const text of ["", "not a uuid\n"]) {
    await writeFile(kept, text);
    await expect(resolveServerUuid("auto_gen", configPath, undefined)).rejects.toMatchObject({
      kind: "ParseError",
      data: { path: kept },
    });
    expect(await readFile(kept, "utf8")).toBe(text);
  }
});

async function uuidOf(url: string): Promise<string> {
  const reply = await fetch(`${url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method: "node-server_uuid", id: 1 }),
  });
  return ((await reply.json()) as { result: string }).result;
}

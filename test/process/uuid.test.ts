import { expect } from "bun:test";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { newPostgresDatabase } from "../support/postgres.ts";
import { type Home, newHome, story } from "../support/process.ts";

const uuidLine = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/;

async function told(home: Home): Promise<string> {
  const { code, stdout, stderr } = await home.run(["get-uuid"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(uuidLine);
  return stdout.trim();
}

story(
  "get-uuid tells what node-server_uuid answers, through restarts, rewrites and a move to PostgreSQL",
  async () => {
    const database = await newPostgresDatabase();
    await using home = await newHome();
    const first = await home.serve();
    const uuid = await first.call("node-server_uuid");
    expect(await told(home)).toBe(String(uuid));

    await home.configure({ top: 'server_uuid = "auto_gen"', logging: 'log_filter = "debug"' });
    const text = await readFile(home.configPath, "utf8");
    await first.reload();
    expect(await first.call("node-server_uuid")).toBe(uuid);
    expect(await first.call("node-server_edit_config", [first.superToken, `# rewritten\n${text}`])).toBe(
      true,
    );
    await first.says(/event=config\.unchanged/);
    expect(await first.call("node-server_uuid")).toBe(uuid);
    await first.stop();
    expect(await readFile(home.configPath, "utf8")).toBe(`# rewritten\n${text}`);

    await home.configure({}, database.url);
    const second = await home.serve();
    expect(await second.call("node-server_uuid")).toBe(uuid);
    expect(await told(home)).toBe(String(uuid));
    await second.stop();
    await database.drop();
  },
);

story("get-uuid before the first start makes nothing and says where it looked", async () => {
  await using home = await newHome();
  const { code, stdout, stderr } = await home.run(["get-uuid"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(
    `there is no ${home.file("config.uuid")} and no ${home.file("data/config.uuid")};`,
  );
  expect(await readdir(home.path)).toEqual(["config.toml"]);
  await home.run(["init"]);
  const uuid = await told(home);
  expect(await (await home.serve()).call("node-server_uuid")).toBe(uuid);
});

story(
  "server_uuid in the configuration wins, takes effect by SIGHUP, and auto_gen comes back as it was",
  async () => {
    await using home = await newHome();
    const server = await home.serve();
    const made = await server.call("node-server_uuid");
    await home.configure({ top: 'server_uuid = "0DF1C53E-5A1B-4C0D-9E5F-0123456789AB"' });
    await server.reload();
    expect(await server.call("node-server_uuid")).toBe("0df1c53e-5a1b-4c0d-9e5f-0123456789ab");
    expect(await told(home)).toBe("0df1c53e-5a1b-4c0d-9e5f-0123456789ab");
    await home.configure();
    await server.reload();
    expect(await server.call("node-server_uuid")).toBe(made);
  },
);

story("a state file that holds no UUID is named, not replaced", async () => {
  await using home = await newHome();
  await writeFile(home.file("config.uuid"), "nonsense\n");
  const { code, stdout, stderr } = await home.run(["get-uuid"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^node-server: .*config\.uuid.*\n$/);
  expect(await readFile(home.file("config.uuid"), "utf8")).toBe("nonsense\n");
});

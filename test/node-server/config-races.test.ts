import { expect, test } from "bun:test";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { finishOverwrite } from "../../src/config/config-file.ts";
import { LiveConfig, type Part } from "../../src/config/live.ts";
import { LogHub } from "../../src/log/hub.ts";
import { configText, eachDatabase, tempFolder, testNode, type WireReply } from "../support/node.ts";
import { newHome, sqliteUrl } from "../support/process.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";

const further = leftToAll(test);

/** Half a millisecond: each state of what is swapped lasts long enough for a whole read or edit to meet it. */
const pause = "for (const t = performance.now(); performance.now() - t < 0.5; );";

/** A second process that does `body` again and again; it ends by itself when nobody ends it. */
function keepDoing(body: string, args: readonly string[]): Disposable {
  const script = `const fs = require("node:fs"); const [${args.map((_, at) => `a${at}`).join(",")}] = process.argv.slice(1);
    for (const end = Date.now() + 20_000; Date.now() < end; ) { try { ${body} } catch {} }`;
  const process_ = Bun.spawn([process.execPath, "-e", script, ...args], {
    stdout: "ignore",
    stderr: "ignore",
  });
  return { [Symbol.dispose]: () => process_.kill("SIGKILL") };
}

const marker = "text-of-somebody-else";

/** Reads and edits 200 times in all, and tells how often each outcome was met. */
async function hammer(send: (method: string, params: object) => Promise<WireReply>, good: string) {
  const met: Record<string, number> = {};
  const isRun = () => (met["108"] ?? 0) > 0 && (met.string ?? 0) + (met.boolean ?? 0) > 0;
  // On a busy machine it may take a while until both states were met.
  for (let turn = 0; turn < 100 || (turn < 10_000 && !isRun()); turn += 1) {
    const replies = [
      await send("node-server_read_config", {}),
      await send("node-server_edit_config", { config_string: `${good}# edit ${turn}\n` }),
    ];
    for (const { result, error } of replies) {
      expect(JSON.stringify({ result, error })).not.toContain(marker);
      const outcome = error === undefined ? typeof result : String(error.code);
      met[outcome] = (met[outcome] ?? 0) + 1;
    }
  }
  return met;
}

further("a configuration that is swapped for a link, all the time, never leads outside", async () => {
  await using outside = await tempFolder();
  await using node = await testNode({ logging: 'memory_log_filter = "trace"' });
  const target = join(outside.path, "secret.toml");
  await writeFile(target, `# ${marker}\n${marker}\n`, { mode: 0o644 });
  const untouched = await stat(target);
  const good = await readFile(node.configPath, "utf8");
  const whole = join(node.folder, "whole.toml");
  await writeFile(whole, good);
  const swap = `fs.symlinkSync(a1, a0 + '.x'); fs.renameSync(a0 + '.x', a0); fs.copyFileSync(a2, a0 + '.y'); fs.renameSync(a0 + '.y', a0); ${pause}`;
  let met: Record<string, number>;
  {
    using _ = keepDoing(swap, [node.configPath, target, whole]);
    await until("the swapping has begun", () =>
      readFile(node.configPath, "utf8").then(
        (text) => (text.includes(marker) ? true : undefined),
        () => undefined,
      ),
    );
    const token = node.superToken;
    met = await hammer((method, params) => node.send(method, { token, ...params }), good);
  }
  // Both states were met, so the race was run.
  expect(met["108"]).toBeGreaterThan(0);
  expect((met.string ?? 0) + (met.boolean ?? 0)).toBeGreaterThan(0);
  expect(await stat(target)).toMatchObject({ ino: untouched.ino, mtimeMs: untouched.mtimeMs });
  expect(await readdir(outside.path)).toEqual(["secret.toml"]);
  expect(JSON.stringify(node.node.ring.entries())).not.toContain(marker);
});

further("a folder that is swapped for a link, all the time, never leads outside", async () => {
  await using outside = await tempFolder();
  await using home = await newHome();
  await mkdir(home.file("conf"));
  // The database stays where it is: the server refuses everybody while its file is away.
  const good = configText(`sqlite://${home.file("node.db")}?mode=rwc`);
  await writeFile(home.file("conf/config.toml"), good);
  const target = join(outside.path, "config.toml");
  await writeFile(target, `${good}# ${marker}\n`, { mode: 0o644 });
  const untouched = await stat(target);
  const server = await home.launch({}, ["serve", "-c", "conf/config.toml"]).ready();
  const swap = `fs.renameSync(a0, a0 + '.real'); fs.symlinkSync(a1, a0); ${pause} fs.unlinkSync(a0); fs.renameSync(a0 + '.real', a0); ${pause}`;
  let met: Record<string, number>;
  {
    using _ = keepDoing(swap, [home.file("conf"), outside.path]);
    const token = server.superToken;
    met = await hammer((method, params) => server.send(method, { token, ...params }), good);
  }
  expect(met["108"]).toBeGreaterThan(0);
  expect((met.string ?? 0) + (met.boolean ?? 0)).toBeGreaterThan(0);
  expect(await stat(target)).toMatchObject({ ino: untouched.ino, mtimeMs: untouched.mtimeMs });
  expect(await readdir(outside.path)).toEqual(["config.toml"]);
});

test("a reload that is asked for while the server starts runs once it has started", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "config.toml");
  await writeFile(path, configText(sqliteUrl));
  const calls: string[] = [];
  let prepared = false;
  const gate = Promise.withResolvers<void>();
  const part: Part = {
    name: "slow",
    slice: ({ console }) => console,
    async prepare(console) {
      prepared = true;
      await gate.promise;
      return { commit: () => void calls.push(`console ${console}`), discard() {} };
    },
    close: () => void calls.push("closed"),
  };
  const live = new LiveConfig({ path, hub: new LogHub() });
  const opening = live.open([part]);
  const reloading = live.reload();
  await until("the start has read the file", () => prepared);
  await writeFile(path, configText(sqliteUrl, { top: "console = false" }));
  gate.resolve();
  await opening;
  expect(await reloading).toBe("applied");
  await live.close();
  expect(calls).toEqual(["console true", "console false", "closed"]);
});

test("a reload that is asked for while the server starts is refused if that fails", async () => {
  await using folder = await tempFolder();
  const live = new LiveConfig({ path: join(folder.path, "missing.toml"), hub: new LogHub() });
  const opening = live.open([]);
  const reloading = live.reload();
  await expect(opening).rejects.toThrow("missing.toml");
  expect(await reloading).toBe("refused");
});

eachDatabase("of twenty edits at once one wins whole, and the winner is what is in force", async (kind) => {
  await using node = await testNode({ database: kind, top: 'server_uuid = "auto_gen"' });
  const uuids = Array.from({ length: 20 }, () => crypto.randomUUID());
  const texts = uuids.map((uuid, at) =>
    configText(node.databaseUrl, {
      top: `static_path = ${JSON.stringify(join(node.folder, "static"))}\n# ${"padding ".repeat(at * 500)}\nserver_uuid = "${uuid}"`,
    }),
  );
  let editing = true;
  const reading = (async () => {
    const original = await readFile(node.configPath, "utf8");
    while (editing) {
      const text = (await node.call("node-server_read_config", [node.superToken])) as string;
      expect(text === original || texts.includes(text)).toBe(true);
    }
  })();
  const replies = await Promise.all(
    texts.map((config_string) =>
      node.send("node-server_edit_config", { token: node.superToken, config_string }),
    ),
  );
  editing = false;
  await reading;
  for (const reply of replies) expect(reply).toHaveProperty("result", true);
  const winner = texts.indexOf(await readFile(node.configPath, "utf8"));
  expect(winner).toBeGreaterThanOrEqual(0);
  await until("the winner is in force", async () =>
    (await node.call("node-server_uuid")) === uuids[winner] ? true : undefined,
  );
  expect((await readdir(node.folder)).filter((name) => /tmp|recovery/.test(name))).toEqual([]);
});

/** Mounts the file onto itself, as a container does with a single file; undefined where that is not allowed. */
async function mountAlone(path: string): Promise<AsyncDisposable | undefined> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const run = (...command: string[]) =>
    Bun.spawn(command, { stdout: "ignore", stderr: "ignore" }).exited.catch(() => 1);
  if ((await run("mount", "--bind", path, path)) !== 0) return undefined;
  // A reload that still reads the file keeps the mount busy.
  const unmount = () => until("the file can be unmounted", async () => (await run("umount", path)) === 0);
  return { [Symbol.asyncDispose]: async () => void (await unmount()) };
}

test("a file that cannot be replaced, as one mounted into a container, is rewritten in place", async () => {
  await using node = await testNode();
  const good = await readFile(node.configPath, "utf8");
  const before = await stat(node.configPath);
  const listing = (await readdir(node.folder)).sort();
  await using mounted = await mountAlone(node.configPath);
  const inPlace = mounted !== undefined;
  for (const text of [`${good}# ${"longer ".repeat(50_000)}\n`, good, `${good}# ü😀\r\n# no newline`]) {
    const params = { token: node.superToken, config_string: text };
    expect(await node.call("node-server_edit_config", params)).toBe(true);
    expect((await readFile(node.configPath, "utf8")) === text).toBe(true);
    expect((await stat(node.configPath)).ino === before.ino).toBe(inPlace);
    expect((await readdir(node.folder)).sort()).toEqual(listing);
  }
  expect((await stat(node.configPath)).mode).toBe(before.mode);
  const params = { token: node.superToken, config_string: "nonsense" };
  expect(await node.refused("node-server_edit_config", params)).toMatchObject({ code: 101 });
  const rivals = Array.from({ length: 10 }, (_, at) => `${good}# ${"more ".repeat((10 - at) * 1000)}${at}\n`);
  await Promise.all(
    rivals.map((config_string) =>
      node.call("node-server_edit_config", { token: node.superToken, config_string }),
    ),
  );
  expect(rivals.includes(await readFile(node.configPath, "utf8"))).toBe(true);
});

test("a rewrite in place that a crash cut short is finished by the next start", async () => {
  await using home = await newHome();
  const wanted = configText(sqliteUrl, { top: 'server_uuid = "65d0b837-40a7-49e0-89e1-bba14a18b59f"' });
  await writeFile(`${home.configPath}.recovery`, wanted, { mode: 0o600 });
  await writeFile(home.configPath, wanted.slice(0, 20));
  await chmod(home.configPath, 0o640);
  const server = await home.serve();
  expect(await server.call("node-server_uuid")).toBe("65d0b837-40a7-49e0-89e1-bba14a18b59f");
  expect(await readFile(home.configPath, "utf8")).toBe(wanted);
  expect((await stat(home.configPath)).mode & 0o777).toBe(0o640);
  expect(await readdir(home.path)).not.toContain("config.toml.recovery");
  await server.says(/WARN server: an interrupted edit of the configuration was completed/);
});

test("a recovery copy that was cut short itself changes nothing and goes", async () => {
  await using home = await newHome();
  const good = await readFile(home.configPath, "utf8");
  await writeFile(`${home.configPath}.recovery`, good.slice(0, 20));
  const server = await home.serve();
  expect(await readFile(home.configPath, "utf8")).toBe(good);
  expect(await readdir(home.path)).not.toContain("config.toml.recovery");
  expect(server.stderr).not.toContain("interrupted edit");
});

test("finishing a rewrite shortens what is longer, and follows no link", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "config.toml");
  const wanted = configText(sqliteUrl);
  expect(await finishOverwrite(path)).toBe(false);
  await writeFile(path, `${wanted}${"tail of the old text ".repeat(100)}`);
  await writeFile(`${path}.recovery`, wanted);
  expect(await finishOverwrite(path)).toBe(true);
  expect(await readFile(path, "utf8")).toBe(wanted);
  expect(await finishOverwrite(path)).toBe(false);
  const other = join(folder.path, "other.toml");
  await writeFile(other, "untouched");
  await writeFile(`${join(folder.path, "linked.toml")}.recovery`, wanted);
  await symlink(other, join(folder.path, "linked.toml"));
  await finishOverwrite(join(folder.path, "linked.toml")).catch(() => {});
  expect(await readFile(other, "utf8")).toBe("untouched");
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { hello } from "../support/process.ts";
import { binary, buildBinary, removeBinary } from "../support/service.ts";
import { bootSystemd, type SystemdMachine } from "../support/systemd.ts";
import { until } from "../support/until.ts";

let machine: SystemdMachine | undefined;

beforeAll(async () => {
  await buildBinary();
  machine = await bootSystemd(binary);
  // The machine boots first.
}, 60_000);
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  await removeBinary();
});

const config = "/srv/node/config.toml";
const install = ["node-server", "service", "install", "--user", "node", "-c", config];

async function show(property: string): Promise<string> {
  return (await machine?.does("systemctl", "show", "--value", "-p", property, "node-server")) ?? "";
}

async function journal(): Promise<string> {
  return (await machine?.does("journalctl", "--no-pager", "--output=cat", "--unit=node-server")) ?? "";
}

/** What the service answers to hello. */
async function answer(): Promise<unknown> {
  const args = ["call", "node-server_hello", "-s", "http://127.0.0.1:2211"];
  const { stdout = "" } = (await machine?.run("node-server", ...args)) ?? {};
  return stdout === "" ? undefined : JSON.parse(stdout);
}

test("a real systemd starts the installed service as its user, and no journal holds the Super Token", async () => {
  if (machine === undefined) return;
  expect((await machine.run("node-server", "init", "-c", config)).stdout).toStartWith("Super Token: ");
  await machine.does("chown", "-R", "node", "/srv/node");
  expect(await machine.does(...install)).toContain("node-server runs; systemctl status node-server shows it");
  // `systemctl start` returned when the server said that it is ready.
  expect(await answer()).toBe(hello);
  expect([await show("ActiveState"), await show("StatusText"), await show("User")]).toEqual([
    "active",
    "serving",
    "node",
  ]);
  const pid = await show("MainPID");
  expect(await machine.does("stat", "--format=%U", `/proc/${pid}`)).toBe("node");
  await until("the journal has the first lines", async () => (await journal()).includes("listening on"));
  expect(await journal()).not.toContain("Super Token");
});

test("under its hardening it writes files, runs SQL in a child process, and takes up a new configuration", async () => {
  if (machine === undefined) return;
  const credentials = await machine.does("node-server", "roll-super-token", "--yes", "-c", config);
  const [, token = ""] = /^Super Token: (\S+)$/m.exec(credentials) ?? [];
  await machine.does("chown", "-R", "node", "/srv/node");
  const remote = (...args: string[]) =>
    machine?.does(
      "env",
      `NODE_SERVER_TOKEN=${token}`,
      "NODE_SERVER_URL=http://127.0.0.1:2211",
      "node-server",
      ...args,
    );
  await remote("buckets", "create", "site");
  await remote("call", "static-bucket-file_upload", "name=site", "path=a.txt", "body=hello");
  expect(await machine.does("stat", "--format=%U %s", "/srv/node/static/site/a.txt")).toBe("node 5");
  expect(await remote("sql", "--csv", "select 1 + 1 as two")).toBe("two\r\n2");
  await machine.does(
    "sh",
    "-c",
    `echo 'max_upload_size = 5' | cat - ${config} > /tmp/new && cat /tmp/new > ${config}`,
  );
  await machine.does("systemctl", "reload", "node-server");
  await until("the reload is in the journal", async () =>
    (await journal()).includes('event=config.applied parts=["limits"]'),
  );
});

test("it is started again when it is killed, and when it hangs", async () => {
  if (machine === undefined) return;
  const first = await show("MainPID");
  await machine.does("kill", "-KILL", first);
  await until(
    "systemd has started another",
    async () => ![first, "0"].includes(await show("MainPID")),
    60_000,
  );
  await until("it answers", async () => (await answer()) === hello, 60_000);

  const folder = "/etc/systemd/system/node-server.service.d";
  await machine.does(
    "sh",
    "-c",
    `mkdir ${folder} && printf '[Service]\\nWatchdogSec=2\\n' > ${folder}/soon.conf`,
  );
  await machine.does("systemctl", "daemon-reload");
  await machine.does("systemctl", "restart", "node-server");
  const second = await show("MainPID");
  await machine.does("kill", "-STOP", second);
  await until(
    "the watchdog has replaced it",
    async () => ![second, "0"].includes(await show("MainPID")),
    60_000,
  );
  await until("it answers", async () => (await answer()) === hello, 60_000);
  // Four waits for systemd, each of which may take a minute.
}, 250_000);

test("it stops with success, and uninstall leaves configuration and data", async () => {
  if (machine === undefined) return;
  await machine.does("systemctl", "stop", "node-server");
  expect([await show("ActiveState"), await show("Result")]).toEqual(["inactive", "success"]);
  await machine.does("node-server", "service", "uninstall");
  expect((await machine.run("systemctl", "cat", "node-server")).code).not.toBe(0);
  expect((await machine.does("ls", "/srv/node/data")).split("\n")).toContain("node.db");
});

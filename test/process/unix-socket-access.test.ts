import { expect } from "bun:test";
import { chmodSync, chownSync, lstatSync, readdirSync } from "node:fs";
import { hello, helloAt, newHome, story } from "../support/process.ts";
import { openSocket } from "../support/socket.ts";
import { findProgram } from "../support/tools.ts";
import { until } from "../support/until.ts";

const local = "http://localhost";
const isRoot = process.getuid?.() === 0;
/** A group that this user may give to a file, and its number. */
const gid = isRoot ? 1 : (process.getgid?.() ?? 0);
const group = isRoot ? "daemon" : String(gid);
const socketWith = (lines: string) => ({
  top: `enable_unix_socket = true\nunix_socket_path = "node.sock"\n${lines}`,
});

const accessOf = (path: string) => {
  const { mode, gid } = lstatSync(path);
  return { mode: mode & 0o777, gid };
};

story(
  "members of the configured group may connect to the Unix socket, and nothing is left beside it",
  async () => {
    await using home = await newHome(socketWith(`unix_socket_group = "${group}"`));
    const server = await home.serve();
    await server.says(/listening on unix:/);
    const unix = home.file("node.sock");
    expect(accessOf(unix)).toEqual({ mode: 0o660, gid });
    expect(await helloAt(local, { unix })).toBe(hello);
    expect(readdirSync(home.path).filter((name) => name.startsWith(".sock-"))).toEqual([]);
  },
);

story("at no moment of a start is the socket open to more users than configured", async () => {
  await using home = await newHome(socketWith(""));
  await home.run(["init"]);
  const modes = new Set<number>();
  const running = home.launch({ as: ["sh", "-c", 'umask 0; exec "$@"', "sh"] });
  const unix = home.file("node.sock");
  await until("the socket answers", async () => {
    for (let look = 0; look < 1000; look++) {
      const stat = lstatSync(unix, { throwIfNoEntry: false });
      if (stat !== undefined) modes.add(stat.mode & 0o777);
    }
    return modes.size === 0 ? undefined : helloAt(local, { unix }).catch(() => undefined);
  });
  expect([...modes]).toEqual([0o600]);
  running.signal("SIGTERM");
  await running.exited;
});

story("a reload changes group and retired mode of a socket that stays where it is", async () => {
  await using home = await newHome(socketWith(""));
  const server = await home.serve();
  await server.says(/listening on unix:/);
  const unix = home.file("node.sock");
  await using socket = await openSocket(server.url);
  await home.configure(socketWith(`unix_socket_mode = "0666"\nunix_socket_group = "${group}"`));
  server.signal("SIGHUP");
  await server.says(/event=config\.applied parts=\["unix socket"\]/);
  expect(accessOf(unix)).toEqual({ mode: 0o666, gid });
  expect(await helloAt(local, { unix })).toBe(hello);
  expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
  await home.configure(socketWith('unix_socket_group = "no-such-group"'));
  server.signal("SIGHUP");
  await server.says(/there is no group no-such-group; create it, or name another in unix_socket_group/);
  expect(accessOf(unix)).toEqual({ mode: 0o666, gid });
});

story("a mode that is not octal text and an unknown group are named by check", async () => {
  await using home = await newHome(socketWith("unix_socket_mode = 660"));
  const wrong = await home.run(["check"]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr + wrong.stdout).toContain(
    'unix_socket_mode: must be an octal mode in quotes, such as "0660"',
  );
  await using other = await newHome(socketWith('unix_socket_group = "no-such-group"'));
  const unknown = await other.run(["check"]);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr + unknown.stdout).toMatch(/unix_socket_group: there is no group no-such-group/);
});

story("a group that the user is not in is refused by check and serve before anything is made", async () => {
  const setpriv = isRoot ? findProgram("a server that may not chown", "setpriv", "util-linux") : "";
  if (setpriv === undefined) return;
  const as = isRoot ? [setpriv, "--bounding-set=-chown", "--clear-groups"] : [];
  // The group of root is in no other user's list.
  const foreign = isRoot ? "daemon" : "root";
  await using home = await newHome(socketWith(`unix_socket_group = "${foreign}"`));
  const checked = await home.run(["check", "--connect"], { as });
  expect(checked).toMatchObject({ code: 1, stdout: "" });
  expect(checked.stderr).toMatch(
    /toml:4:21: unix_socket_group: the socket cannot be given the group \w+: \w+ is not a member of it; run `usermod -aG \w+ \w+` and restart the server, or change unix_socket_group\n$/,
  );
  const served = await home.run(["serve"], { as });
  expect(served).toEqual(checked);
  expect(readdirSync(home.path)).toEqual(["config.toml"]);
  // The process's own group needs no right.
  await home.configure(socketWith(`unix_socket_group = "${process.getgid?.()}"`));
  expect(await home.run(["check"], { as })).toMatchObject({ code: 0 });
  if (!isRoot) return;
  // Neither does one that the folder gives to all new files.
  chownSync(home.path, 0, gid);
  chmodSync(home.path, 0o2755);
  await home.configure(socketWith(`unix_socket_group = "${foreign}"`));
  expect(await home.run(["check"], { as })).toMatchObject({ code: 0 });
  const server = home.launch({ as });
  await server.says(/listening on unix:/);
  expect(accessOf(home.file("node.sock")).gid).toBe(gid);
  server.signal("SIGTERM");
  await server.exited;
});

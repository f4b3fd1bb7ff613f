import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { cp, rm, stat, symlink } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { tempFolder } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { hello, helloAt, newHome } from "../support/process.ts";
import { openTool } from "../support/tools.ts";

const root = resolve(import.meta.dir, "../..");

interface Step {
  readonly word: string;
  readonly rest: string;
}

/** The stages of the Dockerfile, each from its FROM on. */
function stages(): readonly (readonly Step[])[] {
  const text = readFileSync(join(root, "Dockerfile"), "utf8")
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n/g, " ");
  const found: Step[][] = [];
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const [, word = "", rest = ""] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    if (word === "FROM") found.push([]);
    found.at(-1)?.push({ word, rest });
  }
  return found;
}

const [build = [], runtime = []] = stages();
const all = (stage: readonly Step[], word: string) =>
  stage.filter((step) => step.word === word).map(({ rest }) => rest);
const last = (stage: readonly Step[], word: string) => all(stage, word).at(-1) ?? "";

/** What the container runs. */
const command = JSON.parse(last(runtime, "CMD")) as string[];

/** What the build stage copies from this folder. */
const copied = all(build, "COPY").flatMap((rest) => rest.split(/ +/).slice(0, -1));
const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");

test("two stages, of words that a Dockerfile has", () => {
  expect(stages()).toHaveLength(2);
  expect(build[0]).toEqual({ word: "FROM", rest: "node:20-bookworm AS build" });
  expect(runtime[0]).toEqual({ word: "FROM", rest: "debian:bookworm-slim" });
  const words = "FROM WORKDIR COPY RUN USER VOLUME EXPOSE ENV HEALTHCHECK STOPSIGNAL ENTRYPOINT CMD".split(
    " ",
  );
  expect([...build, ...runtime].map(({ word }) => word).filter((word) => !words.includes(word))).toEqual([]);
});

test("what is copied is there, and is all that the builder is shown", () => {
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const shown = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  expect(ignored.find((line) => line !== "" && !line.startsWith("#"))).toBe("*");
  expect(shown.sort()).toEqual([...copied].sort());
});

test("the files that are copied are enough to build the binary that the image runs", async () => {
  await using folder = await tempFolder();
  for (const path of copied) await cp(join(root, path), join(folder.path, path), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder.path, "node_modules"));
  expect(all(build, "RUN")).toEqual(["npm ci", "npm run build"]);
  await using npm = await openTool(Bun.which("npm") ?? "npm");
  await npm.does(["--prefix", folder.path, "run", "build"]);
  const from = /^--from=build .*?(\S+) \/app\/node-server$/.exec(last(runtime, "COPY"))?.[1] ?? "";
  const made = join(folder.path, relative(last(build, "WORKDIR"), from));
  expect((await stat(made)).mode & 0o111).toBe(0o111);
  await using program = await openTool(made);
  expect(await program.does(["version"])).toMatch(/^node-server \d+\.\d+\.\d+ /);
  // The program is built, with the console.
}, 60_000);

test("the server is an ordinary user with a fixed number, who owns its binary's folder and its data", () => {
  const [uid, gid] = last(runtime, "USER").split(":").map(Number);
  expect([uid, gid].every((id) => id !== undefined && id >= 1000)).toBe(true);
  const [made = ""] = all(runtime, "RUN");
  expect(made).toContain(`groupadd --gid ${gid} `);
  expect(made).toContain(`useradd --uid ${uid} --gid ${gid} `);
  for (const folder of ["/app", "/data"])
    expect(made).toMatch(new RegExp(`install -d -o ${uid} -g ${gid} -m 07\\d\\d ${folder}(?= |$)`));
  expect(last(runtime, "COPY")).toContain(`--chown=${uid}:${gid} `);
  // Nothing may be done as root after it.
  const words = runtime.map(({ word }) => word);
  expect(words.lastIndexOf("RUN")).toBeLessThan(words.indexOf("USER"));
});

test("its data is a volume, in which it works, and a stop is the signal that it understands", () => {
  expect([last(runtime, "WORKDIR"), last(runtime, "VOLUME")]).toEqual(["/data", "/data"]);
  expect(last(runtime, "STOPSIGNAL")).toBe("SIGTERM");
  // As JSON, so that no shell stands between the server and its signals.
  expect(JSON.parse(last(runtime, "ENTRYPOINT"))).toEqual(["/app/node-server"]);
  expect(command).toEqual(["serve", "-c", "/data/config.toml"]);
});

/** The commands at the top of the Dockerfile, without `docker run` and its options, in a folder in place of /data. */
function commandsFor(folder: string): { init: string[]; serve: string[] } {
  const text = readFileSync(join(root, "Dockerfile"), "utf8");
  const runs = [...text.matchAll(/^# docker run .* -v node-server:\/data node-server ?(.*)$/gm)];
  const [init = "", serve = ""] = runs.map(([, args = ""]) => args);
  expect(serve).toBe("");
  return { init: init.split(" "), serve: command.map((word) => word.replace("/data", folder)) };
}

test("an empty volume is refused, and the commands at its top make a server that everybody can reach", async () => {
  const port = last(runtime, "EXPOSE");
  const [name, address] = last(runtime, "ENV").split("=");
  expect([name, address]).toEqual(["NODE_SERVER_WS_LISTENER", `0.0.0.0:${port}`]);
  expect(readFileSync(join(root, "Dockerfile"), "utf8")).toMatch(
    new RegExp(`^# docker run -d .*-p ${port}:${port} `, "m"),
  );
  await using home = await newHome();
  await rm(home.configPath);
  const { init, serve } = commandsFor(home.path);
  // Another program may have the image's port on this machine.
  const env = { NODE_SERVER_WS_LISTENER: `0.0.0.0:${await freePort()}` };
  const refused = await home.run(serve, { env });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("config.toml does not exist; ");
  expect((await home.run(init, { env })).stdout).toStartWith("Super Token: ");
  const server = await home.launch({ env }, serve).ready();
  expect(server.stdout).toBe("");
  expect(await helloAt(`http://127.0.0.1:${server.address.port}`)).toBe(hello);
  await server.stop();
});

test("it is asked for its health by the binary itself, which ends with 0 while the server is well", async () => {
  const [, probe = ""] = /^(?:--\S+ )+CMD (.*)$/.exec(last(runtime, "HEALTHCHECK")) ?? [];
  const [program, ...args] = JSON.parse(probe) as string[];
  expect([program, ...args]).toEqual([...(JSON.parse(last(runtime, "ENTRYPOINT")) as string[]), "health"]);
  await using home = await newHome();
  const env = { NODE_SERVER_WS_LISTENER: `0.0.0.0:${await freePort()}` };
  expect((await home.run(args, { env })).code).toBe(1);
  const server = await home.serve({ env });
  expect((await home.run(args, { env })).code).toBe(0);
  await server.stop();
});

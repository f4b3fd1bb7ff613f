import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { tempFolder } from "../support/node.ts";

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const me = isRoot ? nobody : (process.getuid?.() ?? 0);
const source = resolve(import.meta.dir, "../../src/base/local-fs/access.ts");

/** The problems of paths for an ordinary account, asked in a process of its own: a process cannot take its rights back. */
async function problemsOf(...asked: readonly (readonly ["file" | "folder", string, number?])[]) {
  const script = `
    const { fileProblem, folderProblem, currentUser } = await import(${JSON.stringify(source)});
    if (${isRoot}) { process.setgroups([]); process.setgid(${me}); process.setuid(${me}); }
    const asked = ${JSON.stringify(asked)};
    const found = asked.map(([kind, path, mode]) => (kind === "file" ? fileProblem(path) : folderProblem(path, mode)));
    console.log(JSON.stringify({ user: currentUser(), found: found.map((problem) => problem ?? null) }));`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  expect(await child.exited).toBe(0);
  return (await new Response(child.stdout).json()) as {
    readonly user: string;
    readonly found: readonly ({ readonly path: string; readonly why: string } | null)[];
  };
}

test("for a missing folder the advice is to create exactly that folder, never a chown of one above", async () => {
  const asked = [
    ["folder", "/srv/nosuch/static"],
    ["folder", "/srv/nosuch/backup", 0o700],
    ["file", "/var/log/nosuch/access.log"],
  ] as const;
  const { user, found } = await problemsOf(...asked);
  const missing = (path: string, mode: string) => ({
    path,
    why: `does not exist, and ${user} may not create it; run \`install -d -o ${user} -m ${mode} ${path}\` as root`,
    isDenied: true as const,
  });
  expect(found).toEqual([
    missing("/srv/nosuch/static", "750"),
    missing("/srv/nosuch/backup", "700"),
    missing("/var/log/nosuch", "750"),
  ]);
});

test("the owner of a folder of the system is not to be changed", async () => {
  const { found } = await problemsOf(["file", "/var/log/node.log"], ["folder", "/srv"]);
  for (const problem of found) {
    expect(problem?.why).toContain("; name a folder of its own, or a file in one");
    expect(problem?.why).not.toContain("chown");
  }
});

test("the owner of a file changes its mode, and another account its owner", async () => {
  await using place = await tempFolder();
  chmodSync(place.path, 0o755);
  const make = (name: string, mode: number, owner: number) => {
    const path = join(place.path, name);
    if (name.startsWith("file")) writeFileSync(path, "");
    else mkdirSync(path);
    if (isRoot) chownSync(path, owner, owner);
    chmodSync(path, mode);
    return path;
  };
  const folder = make("folder", 0o500, me);
  const shut = make("shut", 0, me);
  const file = make("file", 0o200, me);
  const { user, found } = await problemsOf(["folder", folder], ["folder", shut], ["file", file]);
  expect(found[0]?.why).toBe(
    `cannot be written: it belongs to ${user} with mode 0500, and this runs as ${user}; run \`chmod u+w ${folder}\``,
  );
  expect(found[1]?.why).toEndWith(`; run \`chmod u+rwx ${shut}\``);
  expect(found[2]?.why).toEndWith(`; run \`chmod u+r ${file}\``);
  // Only root can create what belongs to another account.
  if (!isRoot) return;
  const [foreign, foreignFile] = [make("foreign", 0o755, 0), make("file-foreign", 0o644, 0)];
  const other = await problemsOf(["folder", foreign], ["file", foreignFile]);
  // Root has probably left more than the folder.
  expect(other.found[0]?.why).toEndWith(`; run \`chown -R ${user} ${foreign}\``);
  expect(other.found[1]?.why).toEndWith(`; run \`chown ${user} ${foreignFile}\``);
  // What belongs to a server that runs as another user should mostly stay so.
  const served = make("file-served", 0o600, 1);
  const { found: ofServer } = await problemsOf(["file", served]);
  expect(ofServer[0]?.why).toMatch(
    /; run this as (\w+) \(`sudo -u \1`\), or run `chown \w+ \S+file-served`$/,
  );
});

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { parseSitePart } from "../../src/sites/site-rules.ts";
import { testNode } from "../support/node.ts";
import { Home, story } from "../support/process.ts";
import { program } from "../support/program.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/sites.md"), "utf8");

/** A command of the page, with the lines that it shows below it. */
interface Step {
  readonly command: string;
  readonly shown: readonly string[];
}

const steps: readonly Step[] = [...page.matchAll(/^```\n(\$ [\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = "", ...shown] = text.trimEnd().split("\n");
      return { command, shown };
    }),
);
const [, job = ""] = /^```sh\n([\s\S]*?)^```/m.exec(page) ?? [];

/** Every block of the page, also in lists, by the language behind its fence. */
const blocks = [...page.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
  ([, indent = "", language = "", text = ""]) => ({ indent, language, text }),
);

test("every block of docs/sites.md is run by the story below, or is a file that is used as it stands", () => {
  const commands = blocks.filter(({ language }) => language === "");
  for (const { indent, text } of commands)
    expect([indent, text]).toEqual(["", expect.stringMatching(/^\$ /)]);
  expect(commands.flatMap(({ text }) => text.match(/^\$ /gm) ?? [])).toHaveLength(steps.length);
  for (const { language, text } of blocks.filter(({ language }) => language !== "")) {
    if (language === "sh") expect(text).toBe(job);
    else if (language === "redirects" || language === "headers")
      expect(parseSitePart(`_${language}`, Buffer.from(text)).problems).toEqual([]);
    else
      expect([language, text]).toEqual(["caddyfile", expect.not.stringMatching(/^ *(?:\$|node-server) /m)]);
  }
});

/** Stands in for VitePress: a page for each text, and what is in `public`. */
const generator = `#!/bin/sh
set -e
dist=docs/.vitepress/dist
rm -rf $dist && mkdir -p $dist/assets
for page in index about; do
  { printf '<!doctype html>\\n    <title>About us | Handbook</title>\\n'; cat docs/$page.md; } > $dist/$page.html
done
echo '1;' > $dist/assets/app.DEKfSKWO.js
cp -R docs/public/. $dist/
echo 'build complete in 0.01s.'
`;

/** A text without what differs from one run to another: deploys, codes, tokens, numbers. */
const shape = (text: string) =>
  text
    .replace(/\r/g, "")
    .replace(/ {2,}/g, " ")
    .replace(/node\/(preview|link)\/[\w-]+/g, "node/$1/CODE")
    .replace(/\b\w{16}:\w{32}\b/g, "TOKEN")
    .replace(/\b(?:mw|m)[a-z0-9]{9}\b|\b(?=[a-z0-9]*\d)[a-z][a-z0-9]{9}\b/g, "DEPLOY")
    .replace(/\d+(?:\.\d+)?(?: k?B\b)?/g, "N");

story("the commands of docs/sites.md do what the page says", async () => {
  await using node = await testNode();
  await using home = await Home.open();
  const bin = home.file("bin");
  await mkdir(bin);
  const tools = {
    npm: "#!/bin/sh\n",
    npx: generator,
    git: "#!/bin/sh\necho 1a2b3c4\n",
    "node-server": `#!/bin/sh\nexec ${program.map((part) => `'${part}'`).join(" ")} "$@"\n`,
  };
  for (const [name, text] of Object.entries(tools)) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  const port = new URL(node.url).port;
  const ownAddress = (text: string) =>
    text.replaceAll("127.0.0.1-2211", `127.0.0.1-${port}`).replaceAll(":2211", `:${port}`);
  let cwd = home.path;
  const run = async (script: string, env: Record<string, string> = {}) => {
    const child = Bun.spawn(["sh", "-c", `${script}\npwd > '${home.file("cwd")}'`], {
      cwd,
      env: { HOME: home.path, PATH: `${bin}${delimiter}${process.env.PATH}`, ...env },
      stdin: Buffer.from(`${node.superToken}\n`),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    const code = await child.exited;
    if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${stderr}`);
    cwd = readFileSync(home.file("cwd"), "utf8").trim();
    return `${stdout}${stderr}`;
  };
  /** The deploys of the page, and those of this run in their place. */
  const deploys = new Map<string, string>();
  const deployIn = (text: string) => /: (?:deploy|published) (\w+)\b/.exec(text)?.[1];
  let token = "";
  for (const { command, shown } of steps) {
    let script = ownAddress(command);
    for (const [ofPage, own] of deploys) script = script.replaceAll(ofPage, own);
    // Elsewhere than on a terminal a list has tabs and no heading.
    const said = await run(shown[0]?.startsWith("DEPLOY ") ? `script -qec '${script}' /dev/null` : script);
    const lines = said.split("\n").map(shape);
    for (const line of shown.map(ownAddress).map(shape))
      expect([command, lines]).toEqual([command, expect.arrayContaining([line])]);
    const [ofPage, own] = [deployIn(shown.join("\n")), deployIn(said)];
    if (ofPage !== undefined && own !== undefined && !deploys.has(ofPage)) deploys.set(ofPage, own);
    token = /^\w{16}:\w{32}$/m.exec(said)?.[0] ?? token;
  }
  expect(deploys.size).toBe(2);
  await writeFile(join(cwd, "docs/about.md"), "# From CI");
  await run(job, { HOME: home.file("ci"), NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token });
  const published = await fetch(`${node.url}/about`, { headers: { host: "docs.example" } });
  expect(await published.text()).toContain("# From CI");
  // The folder above that of the generator's output is a common mistake.
  expect(await run("node-server deploy ./docs/.vitepress site --preview")).toContain("has no index.html");
});

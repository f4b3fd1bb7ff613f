import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { blockOf, pageText, replaced } from "../documented.ts";
import { tempFolder } from "../node.ts";
import { freePort } from "../postgres.ts";
import { documentedProxies, isRoot } from "../proxy.ts";
import { startAgain, untilStarted } from "../started.ts";
import { findProgram } from "../tools.ts";
import { within } from "../until.ts";
import type { ClusterNode } from "./cluster.ts";

export type BalancerProgram = "nginx" | "caddy";

/** Balancer is a real load balancer before some nodes; it sends each request to another of them. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

interface Balanced {
  readonly folder: string;
  readonly port: number;
  /** `host:port` of each node. */
  readonly addresses: readonly string[];
}

const documented = pageText("cluster.md");
const documentedPorts = [2211, 2212, 2213];

/** The documented example with these nodes in it. */
function exampleFor(language: string, { addresses, port }: Balanced): string {
  const example = blockOf(documented, language);
  const nodes = addresses.map((address, at) => [`127.0.0.1:${documentedPorts[at]}`, address] as const);
  const listen = language === "nginx" ? "listen 8080" : ":8080 {";
  const own = language === "nginx" ? `listen 127.0.0.1:${port}` : `http://127.0.0.1:${port} {`;
  return replaced(example, [...nodes, [listen, own]]);
}

/** The lines of the documented proxy before one node that belong into that before several, too. */
function linesForOneNode(): { readonly map: string; readonly location: string } {
  const example = blockOf(documentedProxies, "nginx");
  const [, location = ""] = /location \/ \{\n([\s\S]*?)\n {4}\}/.exec(example) ?? [];
  const [map = ""] = /^map [\s\S]*?\n\}/.exec(example) ?? [];
  return { map, location: location.replace(/^ *proxy_pass .*$/m, "") };
}

/** Each writes its configuration and returns the arguments that start it in the foreground. */
const configurations: Record<BalancerProgram, (balanced: Balanced) => Promise<string[]>> = {
  nginx: async (balanced) => {
    const { folder } = balanced;
    // Its workers must reach their own files.
    await chmod(folder, 0o711);
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (what) => `${what}_temp_path ${folder}/${what};`,
    );
    const { map, location } = linesForOneNode();
    const example = replaced(exampleFor("nginx", balanced), [["location / {", `location / {\n${location}`]]);
    const text = `daemon off; pid nginx.pid; error_log stderr; ${isRoot ? "user root;" : ""}
events {}
http {
access_log off; ${folders.join(" ")}
${map}
${example}}
`;
    await writeFile(join(folder, "nginx.conf"), text);
    return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  },
  caddy: async (balanced) => {
    const { folder } = balanced;
    // Asked more often, so that a node has to drain for less time.
    const often = replaced(exampleFor("caddy", balanced), [["health_interval 2s", "health_interval 250ms"]]);
    const text = `{\n    admin off\n    auto_https off\n}\n${often}`;
    await writeFile(join(folder, "Caddyfile"), text);
    return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  },
};

/** The documented load balancer before the nodes; undefined where the program is missing. */
export async function openBalancer(
  program: BalancerProgram,
  nodes: ReadonlyArray<Pick<ClusterNode, "url">>,
): Promise<Balancer | undefined> {
  const what = `the story of ${program} before three nodes`;
  const path = findProgram(what, program, program === "nginx" ? "nginx-light" : program);
  if (path === undefined) return undefined;
  const folder = await tempFolder();
  const addresses = nodes.map(({ url }) => new URL(url).host);
  const log = join(folder.path, "balancer.log");
  const { url, child } = await startAgain(async () => {
    const port = await freePort();
    const args = await configurations[program]({ folder: folder.path, port, addresses });
    const child = Bun.spawn([path, ...args], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, HOME: folder.path },
      stdout: "ignore",
      stderr: Bun.file(log),
    });
    const url = `http://127.0.0.1:${port}`;
    await untilStarted({
      name: program,
      child,
      log,
      isReady: () => fetch(`${url}/node/ready`).then(({ ok }) => ok),
    });
    return { url, child };
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await within(`${program} ends`, child.exited);
      await folder[Symbol.asyncDispose]();
    },
  };
}

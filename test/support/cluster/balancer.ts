import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../node.ts";
import { freePort } from "../postgres.ts";
import { until, within } from "../process.ts";
import { findProgram } from "../tools.ts";
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

/** Each writes its configuration and returns the arguments that start it in the foreground. */
const configurations: Record<BalancerProgram, (balanced: Balanced) => Promise<string[]>> = {
  nginx: async ({ folder, port, addresses }) => {
    // Its workers must reach their own files.
    await chmod(folder, 0o711);
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (what) => `${what}_temp_path ${folder}/${what};`,
    );
    const servers = addresses.map((address) => `server ${address} max_fails=1 fail_timeout=1s;`);
    const text = `daemon off; pid nginx.pid; error_log stderr; ${process.getuid?.() === 0 ? "user root;" : ""}
events {}
http {
access_log off; ${folders.join(" ")}
upstream nodes { ${servers.join(" ")} }
server {
  listen 127.0.0.1:${port};
  client_max_body_size 0;
  location / {
    proxy_pass http://nodes;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Connection "";
    proxy_next_upstream error timeout http_503;
  }
}
}
`;
    await writeFile(join(folder, "nginx.conf"), text);
    return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  },
  caddy: async ({ folder, port, addresses }) => {
    const text = `{
    admin off
    auto_https off
}
http://127.0.0.1:${port} {
    reverse_proxy ${addresses.join(" ")} {
        lb_policy round_robin
        lb_try_duration 5s
        health_uri /node/ready
        health_interval 250ms
        health_timeout 5s
    }
}
`;
    await writeFile(join(folder, "Caddyfile"), text);
    return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  },
};

/** A load balancer before the nodes; undefined where the program is missing. */
export async function openBalancer(
  program: BalancerProgram,
  nodes: ReadonlyArray<Pick<ClusterNode, "url">>,
): Promise<Balancer | undefined> {
  const what = `the story of ${program} before three nodes`;
  const path = findProgram(what, program, program === "nginx" ? "nginx-light" : program);
  if (path === undefined) return undefined;
  const folder = await tempFolder();
  const port = await freePort();
  const addresses = nodes.map(({ url }) => new URL(url).host);
  const args = await configurations[program]({ folder: folder.path, port, addresses });
  const log = join(folder.path, "balancer.log");
  const child = Bun.spawn([path, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path },
    stdout: "ignore",
    stderr: Bun.file(log),
  });
  const url = `http://127.0.0.1:${port}`;
  await until(`${program} accepts`, async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${await Bun.file(log).text()}`);
    return fetch(`${url}/node/ready`).then(
      ({ ok }) => ok,
      () => undefined,
    );
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

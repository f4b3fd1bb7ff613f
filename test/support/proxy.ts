import { expect } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { blockOf, replaced, sectionOf } from "./documented.ts";
import { tempFolder } from "./node.ts";
import { freePort } from "./postgres.ts";
import { startAgain, untilStarted } from "./started.ts";
import { findProgram, findTool } from "./tools.ts";
import { within } from "./until.ts";

/** For requests to a proxy, whose certificate is its own. */
export const trusting = { tls: { rejectUnauthorized: false } };
export const documentedProxies = sectionOf("operate.md", "Behind a proxy");
const documentedServer = "127.0.0.1:2211";
const documentedSocket = "/srv/node-socket/node.sock";
/** Tells whether these tests run as root; only then a proxy can run as another user. */
export const isRoot = process.getuid?.() === 0;

export type ProxyProgram = "nginx" | "caddy";

/** Where the proxy finds the server: `host:port`, or the path of a Unix socket. */
export type Upstream = { readonly address: string } | { readonly unix: string; readonly user?: string };

interface Proxied {
  readonly folder: string;
  /** Of the proxy. */
  readonly port: number;
  readonly upstream: Upstream;
}

/** The example with this server in it: by its address, or with the documented setting for a socket in place of that for an address. */
function upstreamIn(
  example: string,
  { upstream }: Proxied,
  documented: { readonly tcp: string; readonly unix: string },
): string {
  if ("address" in upstream) return replaced(example, [[documentedServer, upstream.address]]);
  expect(documentedProxies).toContain(documented.unix);
  const unix = replaced(documented.unix, [[documentedSocket, upstream.unix]]);
  return replaced(example, [[documented.tcp, unix]]);
}

const nginxUpstream = {
  tcp: `proxy_pass http://${documentedServer};`,
  unix: `proxy_pass http://unix:${documentedSocket};`,
};
const caddyUpstream = {
  tcp: `reverse_proxy ${documentedServer} {`,
  unix: `reverse_proxy unix/${documentedSocket} {`,
};

/** Each writes its configuration into the folder and returns the arguments that start it in the foreground. */
const configurations: Record<ProxyProgram, (proxied: Proxied) => Promise<string[]>> = {
  nginx: async (proxied) => {
    const { folder, port, upstream } = proxied;
    const user = ("user" in upstream ? upstream.user : undefined) ?? "root";
    // Its workers must reach their own files.
    await chmod(folder, 0o711);
    const example = replaced(blockOf(documentedProxies, "nginx"), [
      ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
      ["/etc/ssl/files.example.com.pem", join(folder, "cert.pem")],
      ["/etc/ssl/files.example.com.key", join(folder, "key.pem")],
    ]);
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (what) => `${what}_temp_path ${folder}/${what};`,
    );
    const text = `daemon off; pid nginx.pid; error_log stderr; ${isRoot ? `user ${user};` : ""}
events {}
http {
access_log off; ${folders.join(" ")}
${upstreamIn(example, proxied, nginxUpstream)}}
`;
    await writeFile(join(folder, "nginx.conf"), text);
    return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  },
  caddy: async (proxied) => {
    const { folder, port } = proxied;
    const example = replaced(blockOf(documentedProxies, "caddy"), [
      ["files.example.com {", `https://127.0.0.1:${port} {\n    tls cert.pem key.pem`],
    ]);
    const text = `{\n    admin off\n    auto_https disable_redirects\n}\n${upstreamIn(example, proxied, caddyUpstream)}`;
    await writeFile(join(folder, "Caddyfile"), text);
    return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  },
};

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  readonly folder: string;
}

/** The documented proxy in front of a server, over TLS; undefined where a program is missing. */
export async function openProxy(program: ProxyProgram, upstream: Upstream): Promise<Proxy | undefined> {
  const what = `the story of ${program} before the server`;
  const path = findProgram(what, program, program === "nginx" ? "nginx-light" : program);
  const openssl = await findTool(what, "openssl");
  if (path === undefined || openssl === undefined) return undefined;
  const folder = await tempFolder();
  const names = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  const files = `-keyout ${folder.path}/key.pem -out ${folder.path}/cert.pem`;
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
  await openssl.does(`req -x509 -nodes -days 2 ${curve} ${names} ${files}`.split(" "));
  const log = join(folder.path, "proxy.log");
  const { url, child } = await startAgain(async () => {
    const port = await freePort();
    const args = await configurations[program]({ folder: folder.path, port, upstream });
    const child = Bun.spawn([path, ...args], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, HOME: folder.path },
      stdout: "ignore",
      stderr: Bun.file(log),
    });
    const url = `https://127.0.0.1:${port}`;
    await untilStarted({ name: program, child, log, isReady: () => fetch(url, trusting) });
    return { url, child };
  });
  return {
    url,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await within(`${program} ends`, child.exited);
      await openssl[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

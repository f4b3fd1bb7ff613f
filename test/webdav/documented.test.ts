import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { hello, until, within } from "../support/process.ts";
import { findProgram, findTool, randomBytes } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/webdav.md"), "utf8");
const trusting = { tls: { rejectUnauthorized: false } };
const documentedServer = "127.0.0.1:2211";
const isRoot = process.getuid?.() === 0;

/** The only block of this language on the page. */
function blockOf(language: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))];
  expect(blocks).toHaveLength(1);
  return blocks[0]?.[1] ?? "";
}

/** `text` with every pair replaced; each must be there. */
function replaced(text: string, pairs: ReadonlyArray<readonly [from: string, to: string]>): string {
  return pairs.reduce((rest, [from, to]) => {
    expect(rest).toContain(from);
    return rest.replaceAll(from, to);
  }, text);
}

interface Proxied {
  readonly folder: string;
  /** Of the proxy. */
  readonly port: number;
  /** `host:port` of the server behind it. */
  readonly server: string;
}

/** Each writes its configuration into the folder and answers the arguments that start it in the foreground. */
const proxies = {
  nginx: async ({ folder, port, server }: Proxied) => {
    const documented = replaced(blockOf("nginx"), [
      ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
      ["/etc/ssl/files.example.com.pem", join(folder, "cert.pem")],
      ["/etc/ssl/files.example.com.key", join(folder, "key.pem")],
      [documentedServer, server],
    ]);
    const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (what) => `${what}_temp_path ${folder}/${what};`,
    );
    const text = `daemon off; pid nginx.pid; error_log stderr; ${isRoot ? "user root;" : ""}
events {}
http {
access_log off; ${places.join(" ")}
${documented}}
`;
    await writeFile(join(folder, "nginx.conf"), text);
    return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  },
  caddy: async ({ folder, port, server }: Proxied) => {
    const documented = replaced(blockOf("caddy"), [
      ["files.example.com {", `https://127.0.0.1:${port} {\n    tls cert.pem key.pem`],
      [documentedServer, server],
    ]);
    const text = `{\n    admin off\n    auto_https disable_redirects\n}\n${documented}`;
    await writeFile(join(folder, "Caddyfile"), text);
    return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  },
};

/** The documented proxy before the server, over TLS; undefined where a program is missing. */
async function openProxy(program: keyof typeof proxies, node: TestNode) {
  const what = `the story of ${program} before the server`;
  const path = findProgram(what, program, program === "nginx" ? "nginx-light" : program);
  const openssl = await findTool(what, "openssl");
  if (path === undefined || openssl === undefined) return undefined;
  const folder = await tempFolder();
  const port = await freePort();
  const names = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  const files = `-keyout ${folder.path}/key.pem -out ${folder.path}/cert.pem`;
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
  await openssl.does(`req -x509 -nodes -days 2 ${curve} ${names} ${files}`.split(" "));
  const args = await proxies[program]({ folder: folder.path, port, server: new URL(node.url).host });
  const log = join(folder.path, "proxy.log");
  const child = Bun.spawn([path, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path },
    stdout: "ignore",
    stderr: Bun.file(log),
  });
  const url = `https://127.0.0.1:${port}`;
  await until(`${program} accepts`, async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${await Bun.file(log).text()}`);
    return fetch(url, trusting).then(
      () => true,
      () => undefined,
    );
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await within(`${program} ends`, child.exited);
      await openssl[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** What hello answers over a WebSocket. */
function helloBySocket(url: string): Promise<unknown> {
  return within(
    `the WebSocket at ${url} answers`,
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url, trusting);
      socket.onopen = () => socket.send('{"jsonrpc":"2.0","method":"node-server_hello","id":1}');
      socket.onmessage = ({ data }) => {
        resolve((JSON.parse(String(data)) as { result: unknown }).result);
        socket.close();
      };
      socket.onerror = () => reject(new Error(`the WebSocket at ${url} was refused`));
    }),
  );
}

for (const program of ["nginx", "caddy"] as const)
  test(`the documented ${program} passes on calls, WebSockets, large uploads and WebDAV moves`, async () => {
    await using node = await testNode();
    const { authorization } = await webdavSite(node);
    await using proxy = await openProxy(program, node);
    if (proxy === undefined) return;
    const { url } = proxy;
    for (const address of ["/jsonrpc", "/node/rpc", "/"]) {
      const call = await fetch(url + address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"jsonrpc":"2.0","method":"node-server_hello","id":1}',
        ...trusting,
      });
      expect(await call.json()).toMatchObject({ result: hello });
      expect(await helloBySocket(url.replace("https", "wss") + address)).toBe(hello);
    }
    const dav = `${url}/node/static-webdav/site`;
    // Above the megabyte that nginx allows by itself.
    const body = randomBytes(12 * 1024 * 1024);
    const put = await fetch(`${dav}/large.bin`, {
      method: "PUT",
      headers: { authorization },
      body,
      ...trusting,
    });
    expect(put.status).toBe(201);
    const moved = await fetch(`${dav}/large.bin`, {
      method: "MOVE",
      headers: { authorization, destination: `${dav}/moved.bin` },
      ...trusting,
    });
    expect(moved.status).toBe(201);
    const back = await fetch(`${url}/node/static/site/moved.bin`, trusting);
    expect(Buffer.from(await back.arrayBuffer()).equals(body)).toBe(true);
    const options = await fetch(url, { method: "OPTIONS", ...trusting });
    expect(options.headers.get("dav")).toBe("1, 2, 3");
  });

test("the documented rclone commands sign in and copy, and keep no readable secret", async () => {
  await using node = await testNode();
  const { base } = await webdavSite(node);
  await using tool = await findTool("the documented rclone commands", "rclone");
  if (tool === undefined) return;
  const [key = "", secret = ""] = node.superToken.split(":");
  const [, commands = ""] = /\*\*rclone\*\*\n\n```\n([\s\S]*?)```/.exec(page) ?? [];
  const lines = replaced(commands, [
    ["https://files.example.com/node/static-webdav/site", base],
    ["<key>", key],
    ["<secret>", secret],
  ]);
  const env = { RCLONE_CONFIG: join(tool.home, "rclone.conf"), RCLONE_RETRIES: "1" };
  await Bun.write(join(tool.home, "public/index.html"), "hello");
  for (const line of lines.trim().split("\n")) await tool.does(line.split(" ").slice(1), { env });
  expect(await (await fetch(`${node.url}/node/static/site/index.html`)).text()).toBe("hello");
  expect(readFileSync(env.RCLONE_CONFIG, "utf8")).not.toContain(secret);
});

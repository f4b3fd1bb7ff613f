import { afterAll, beforeAll, expect } from "bun:test";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { quietPort } from "../support/installed.ts";
import { PageRun, serviceProgram, serviceStandIns } from "../support/page-story.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { hello, story } from "../support/process.ts";
import { binary, buildBinary, buildMs, removeBinary } from "../support/service.ts";

beforeAll(buildBinary, buildMs);
afterAll(removeBinary);

// Stand-ins: sudo, useradd, usermod, systemctl, `install -o` and ssh, which need root, systemd or another machine.
story(
  "the commands and configurations of docs/operate.md do what the page says",
  async () => {
    const [port, database] = [await quietPort(), await newPostgresDatabase()];
    const [user, group] = ["-un", "-gn"].map((what) => Bun.spawnSync(["id", what]).stdout.toString().trim());
    await using page = await PageRun.open({
      page: "operate.md",
      pairs: [
        ["127.0.0.1:2211", `127.0.0.1:${port}`],
        ["node.example.com:2211", `localhost:${port}`],
        // `check` refuses to order a certificate for this machine's own name.
        ['server_name = "node.example.com"', 'server_name = "node.example.com"'],
        ["node.example.com", "localhost"],
        ["--user node", `--user ${user}`],
        ['"www-data"', JSON.stringify(group)],
        ["postgres://user:password@host:5432/node?sslmode=verify-full", database.url],
        ["node-server-…-before-….tar.zst", "node-server-*-before-*.tar.zst --yes"],
      ],
      standIns: {
        ...serviceStandIns,
        "node-server": serviceProgram(binary),
        ssh: '#!/bin/sh\nshift\ncd "$HOME" && exec sh -c "$*"\n',
      },
      env: { NODE_SERVER_WS_LISTENER: `127.0.0.1:${port}`, NODE_SERVER_NEW_PASSWORD: "a password of Alice" },
    });
    const login = () => page.shell(`node-server login http://127.0.0.1:${port}`);
    const restart = () => page.shell("systemctl restart node-server");
    await page.runBlocks({
      "SHA256SUMS\n": {
        before: async () => {
          page.cwd = page.file("release");
          await mkdir(page.cwd);
          await cp(binary, join(page.cwd, "node-server-linux-x86_64-gnu"));
          await page.shell(
            "node-server man > node-server.1; for s in bash zsh fish; do node-server completion $s > node-server.$s; done; sha256sum node-server* > SHA256SUMS",
          );
        },
      },
      "init -c": {
        after: async (printed) => {
          page.input = `${/^Super Token: (\S+)$/m.exec(printed)?.[1]}\n`;
          page.cwd = page.file("srv/node");
          await login();
          await page.shell(
            "node-server buckets create site; mkdir ../site; echo 'Hello World' > ../site/index.html; node-server push ../site site",
          );
        },
      },
      // The page's own address, where an authority can ask.
      "email =": { env: { NODE_SERVER_WS_LISTENER: "0.0.0.0:443" } },
      "tls_cert =": {
        before: () =>
          page.shell("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout key.pem -out cert.pem"),
      },
      RENEWED_LINEAGE: {
        before: () =>
          page.shell(
            "mkdir ../renewed; cp cert.pem ../renewed/fullchain.pem; cp key.pem ../renewed/privkey.pem",
          ),
        env: { RENEWED_LINEAGE: page.file("srv/renewed") },
      },
      "--ca cert.pem": {
        before: () =>
          page.shell(
            `cp config.toml plain.toml; cp documented.toml config.toml; systemctl reload; until curl -sk https://localhost:${port}/node/health; do sleep 0.02; done`,
          ),
        after: () => page.shell("cp plain.toml config.toml").then(restart).then(login),
      },
      "listen 443 ssl": {
        before: () =>
          page.shell(
            "mkdir ../../etc/ssl; cp cert.pem ../../etc/ssl/files.example.com.pem; cp key.pem ../../etc/ssl/files.example.com.key",
          ),
      },
      unix_socket_path: { isApplied: true, after: restart },
      "node-server_hello": { after: async (printed) => expect(printed).toContain(hello) },
      "restore backup/node.tar.zst": { before: () => page.shell("systemctl stop") },
      "migrate --to": {
        after: async () => {
          await restart();
          expect(await page.shell("node-server status")).toContain("postgres");
          await page.shell("systemctl stop; cp plain.toml config.toml");
        },
      },
      "-before-": {
        before: () => page.shell("node-server backup backup/node-server-1-before-2.tar.zst"),
      },
    });
    await database.drop();
    // Some forty commands, each a process of its own.
  },
  90_000,
);

import { afterAll, expect } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  bucketAt,
  issuedFor,
  orderingNode,
  ordersFrom,
  problemOf,
  serverName,
  shownFor,
  stateOf,
} from "../support/certs.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { initDatabase, testNode } from "../support/node.ts";
import { openPebble } from "../support/pebble.ts";
import { rows } from "../support/sql.ts";
import { test } from "../support/test.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";

const further = leftToAll(test);

const opened = await openPebble();
afterAll(() => opened?.[Symbol.asyncDispose]());

if (opened !== undefined) {
  const pebble = opened;
  const longMs = 40_000;

  test(
    "a server gets a certificate for its own name, and keeps it over a restart in files for its user alone",
    async () => {
      await using node = await orderingNode(pebble);
      expect((await shownFor(node.url, serverName)).issuer).toBe(serverName);
      const shown = await issuedFor(node, serverName);
      expect(await stateOf(node, serverName)).toMatchObject({ state: "issued", problem: null });
      expect(await shownFor(node.url, "unknown.example.com")).toEqual(shown);
      const folder = join(node.folder, "data/certificates");
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      const files = await readdir(folder);
      expect(files.toSorted()).toEqual([
        expect.stringMatching(/^account-[0-9a-f]{16}\.key$/),
        `${serverName}.pem`,
      ]);
      for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
      await node.node.close();
      const requests = pebble.requests.length;
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl });
      expect(await shownFor(again.url, serverName)).toEqual(shown);
      expect(pebble.requests.length).toBe(requests);
    },
    longMs,
  );

  test(
    "a host name gets its certificate while connections are open and new ones come, and none is dropped",
    async () => {
      await using node = await orderingNode(pebble);
      await issuedFor(node, serverName);
      const socket = await node.socket();
      let [isOver, answered] = [false, 0];
      const visits = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const { status } = await fetch(`${node.url}/node/health`, {
            keepalive: false,
            tls: { rejectUnauthorized: false },
          });
          expect(status).toBe(200);
          answered += 1;
        }
      });
      await bucketAt(node, "shop", "shop.example.com");
      const shown = await issuedFor(node, "shop.example.com");
      const before = answered;
      await until("visits go on", () => answered > before + 50);
      isOver = true;
      await Promise.all(visits);
      expect(await socket.call("node-server_hello")).toMatchObject({ result: expect.any(String) });
      expect((await shownFor(node.url, serverName)).subject).toBe(serverName);
      expect(shown.serial).not.toBe((await shownFor(node.url, serverName)).serial);
      expect((await shownFor(node.url, "unknown.example.com")).subject).toBe(serverName);
    },
    longMs,
  );

  further(
    "a reload lets a server begin to order certificates, and end",
    async () => {
      const { top = "", reach } = ordersFrom(pebble);
      await using node = await testNode({ reach });
      const before = await Bun.file(node.configPath).text();
      const { host } = new URL(node.url);
      await node.editConfig(before.replace("[logging]", `${top}[logging]`).replace("127.0.0.1:0", host));
      expect(node.url).toBe(`https://${host}`);
      const shown = await issuedFor(node, serverName);
      await node.editConfig(before.replace("127.0.0.1:0", host));
      expect(node.url).toBe(`http://${host}`);
      expect(await node.call("node-server_certificates", [node.superToken])).toEqual([]);
      await node.editConfig(before.replace("[logging]", `${top}[logging]`).replace("127.0.0.1:0", host));
      expect(await shownFor(node.url, serverName)).toEqual(shown);
    },
    longMs,
  );

  further(
    "a name that comes back has its certificate at once, and is not called issued while another is shown",
    async () => {
      const clock = new ManualClock();
      const { top = "", ...options } = ordersFrom(pebble);
      const withS3 = (host: string) => `${top}[s3]\nlistener = "127.0.0.1:0"\nhost = "${host}"\n`;
      await using node = await testNode({ ...options, clock, top: withS3("s3.example.com") });
      await bucketAt(node, "shop", "shop.example.com");
      for (const name of ["shop.example.com", "s3.example.com"]) await issuedFor(node, name);
      // No time passes by the clock of the server: nothing is done by its turn.
      const isShown = (name: string) =>
        until(`${name} has its certificate`, async () => (await shownFor(node.url, name)).subject === name);
      const isGone = (name: string) =>
        until(
          `${name} has no certificate`,
          async () => (await shownFor(node.url, name)).subject === serverName,
        );
      const setHosts = (hosts: string[]) =>
        node.call("static-bucket_update", { token: node.superToken, name: "shop", hosts });
      await setHosts([]);
      await isGone("shop.example.com");
      await setHosts(["shop.example.com"]);
      await isShown("shop.example.com");
      const config = await Bun.file(node.configPath).text();
      await node.editConfig(config.replace("s3.example.com", "s4.example.com"));
      await isShown("s4.example.com");
      await node.editConfig(config);
      await until("s3.example.com is issued", async () => {
        return (await stateOf(node, "s3.example.com")).state === "issued";
      });
      expect((await shownFor(node.url, "s3.example.com")).subject).toBe("s3.example.com");
    },
    longMs,
  );

  further(
    "a file of a name that cannot be read is said, and keeps no other name from its certificate",
    async () => {
      await using node = await orderingNode(pebble);
      const shown = await issuedFor(node, serverName);
      const file = join(node.folder, "data/certificates/unread.example.com.pem");
      await mkdir(file);
      await bucketAt(node, "unread", "unread.example.com");
      const problem = await problemOf(node, "unread.example.com");
      expect(problem).toMatchObject({ reason: "store_failed", detail: expect.stringContaining(file) });
      await bucketAt(node, "read", "read.example.com");
      const read = await issuedFor(node, "read.example.com");
      await node.node.close();
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl });
      expect(await shownFor(again.url, serverName)).toEqual(shown);
      expect(await shownFor(again.url, "read.example.com")).toEqual(read);
    },
    longMs,
  );

  test(
    "nothing is ordered while its key cannot be stored, and a certificate that cannot be stored is used and stored later",
    async () => {
      const clock = new ManualClock();
      await using node = await orderingNode(pebble, { clock });
      await issuedFor(node, serverName);
      const folder = join(node.folder, "data/certificates");
      const orders = () => pebble.requests.filter((path) => path === "/order-plz").length;
      const before = orders();
      const inTheWay = join(folder, "shop.example.com.order");
      await mkdir(inTheWay);
      await bucketAt(node, "shop", "shop.example.com");
      expect(await problemOf(node, "shop.example.com")).toMatchObject({
        reason: "store_failed",
        detail: expect.stringContaining(inTheWay),
      });
      expect(orders()).toBe(before);
      await rmdir(inTheWay);
      const file = join(folder, "shop.example.com.pem");
      pebble.intercept = async (path) => {
        if (path.startsWith("/finalize-order/")) await mkdir(file);
        return undefined;
      };
      await clock.jump(10 * 60_000);
      const shown = await issuedFor(node, "shop.example.com");
      pebble.intercept = undefined;
      expect(await problemOf(node, "shop.example.com")).toMatchObject({ reason: "store_failed" });
      await bucketAt(node, "other", "other.example.com");
      await issuedFor(node, "other.example.com");
      await rmdir(file);
      await clock.until("it is stored", 10_000, async () => {
        return (await stateOf(node, "shop.example.com")).problem === null;
      });
      await node.node.close();
      const requests = pebble.requests.length;
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl });
      expect(await shownFor(again.url, "shop.example.com")).toEqual(shown);
      expect(pebble.requests.length).toBe(requests);
    },
    longMs,
  );

  test(
    "a secret that is added keeps the certificates, by a reload and by a start, and a wrong one is refused by both",
    async () => {
      await using node = await orderingNode(pebble);
      const shown = await issuedFor(node, serverName);
      const requests = pebble.requests.length;
      const config = await Bun.file(node.configPath).text();
      const withSecret = (secret: string) =>
        config.replace("auto = true", `auto = true\nsecret = "${secret}"`);
      const secret = "0123456789abcdef0123456789abcdef";
      const isSealed = () =>
        until("the keys are sealed", async () => {
          const sealed = await rows(node, "SELECT key FROM kv WHERE namespace = 'tls/keys'");
          return sealed.some(({ key }) => key === `${serverName}.pem`);
        });
      await node.editConfig(withSecret(secret));
      await isSealed();
      expect(await shownFor(node.url, serverName)).toEqual(shown);
      await writeFile(node.configPath, withSecret("another secret of another node..."));
      expect(await node.node.reload()).toBe("refused");
      expect(await shownFor(node.url, serverName)).toEqual(shown);
      // Without the rows, the running server stores what it has with the other secret.
      await node.sql("DELETE FROM kv WHERE namespace = 'tls/keys'");
      expect(await node.node.reload()).toBe("applied");
      await isSealed();
      await node.node.close();
      const { top = "" } = ordersFrom(pebble, 'secret = "another secret of another node..."\n');
      await rm(join(node.folder, "data/certificates"), { recursive: true });
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl, top });
      expect(await shownFor(again.url, serverName)).toEqual(shown);
      expect(pebble.requests.length).toBe(requests);
      await again.node.close();
      const refused = orderingNode(pebble, { databaseUrl: node.databaseUrl, more: `secret = "${secret}"\n` });
      await expect(refused).rejects.toThrow(/the secret of \[tls\] does not open/);
    },
    longMs,
  );

  test(
    "certificates go along when a reload moves the server to another database",
    async () => {
      await using node = await orderingNode(pebble);
      const shown = await issuedFor(node, serverName);
      const requests = pebble.requests.length;
      const folder = join(node.folder, "other");
      await mkdir(folder);
      const url = `sqlite://${folder}/node.db?mode=rwc`;
      await initDatabase(url, node.superToken);
      const config = await Bun.file(node.configPath).text();
      await writeFile(node.configPath, config.replace(node.databaseUrl, url));
      expect(await node.node.reload()).toBe("applied");
      await until("the files are there", () => existsSync(join(folder, "certificates", `${serverName}.pem`)));
      expect(await shownFor(node.url, serverName)).toEqual(shown);
      expect(pebble.requests.length).toBe(requests);
    },
    longMs,
  );

  test(
    "a start with a secret that is new takes the certificates from their files",
    async () => {
      await using node = await orderingNode(pebble);
      const shown = await issuedFor(node, serverName);
      await node.node.close();
      const requests = pebble.requests.length;
      const more = 'secret = "0123456789abcdef0123456789abcdef"\n';
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl, more });
      expect(await shownFor(again.url, serverName)).toEqual(shown);
      expect(pebble.requests.length).toBe(requests);
    },
    longMs,
  );

  test(
    "a name that the DNS does not have costs no order, and says what to do",
    async () => {
      await using node = await orderingNode(pebble);
      pebble.elsewhere.set("missing.example.com", undefined);
      await bucketAt(node, "missing", "missing.example.com");
      expect(await problemOf(node, "missing.example.com")).toMatchObject({
        reason: "dns_missing",
        advice: expect.stringContaining("add an A or AAAA record"),
      });
      expect(await stateOf(node, "missing.example.com")).toMatchObject({ state: "failed", until: null });
    },
    longMs,
  );
}

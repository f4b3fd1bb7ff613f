import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { codeAt } from "../../src/auth/second-factor.ts";
import { build } from "../../src/build.ts";
import { methods } from "../../src/methods/index.ts";
import { bytesOfBase32 } from "../support/base32.ts";
import { orderingCertificates } from "../support/certs.ts";
import { type TestNode, testNode } from "../support/node.ts";
import type { TestSocket } from "../support/socket.ts";

/** Members, and members of members, but not values: those differ from server to server. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

/** What an answer holds differs from server to server, so only the outer shape of these is compared. */
const variable = new Set([
  "rpc.discover",
  "node-server_database_storage",
  "node-server_metrics",
  "storage_read",
  // A first certificate is not there at once.
  "node-server_certificates",
  "node-server_renew_certificate",
  // S3 is off.
  "token_s3_credentials",
  // Keys differ in which of their members are there.
  "node-server_config_schema",
]);

/** A PNG. */
const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("the example in the documents works", () => {
  for (const [name, { example, result, event }] of Object.entries(methods)) {
    test(name, async () => {
      if (example === undefined) throw new Error(`${name} has no example`);
      const keepsVersions =
        /^static-bucket-file_(history|read_version|restore|restore_many|delete_many)$/.test(name);
      await using node = await testNode({
        // The log of the examples is that of a first start.
        newDatabase: name.includes("log"),
        logging: 'memory_log_filter = "info"',
        ...(name.includes("certificate") && orderingCertificates),
        store: keepsVersions ? "objects over sqlite" : "disk",
      });
      await node.sql("INSERT INTO monitoring_uuid (uuid) VALUES ('0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10')");
      const token_limit = [
        { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
      ];
      const alice = { name: "laptop of Alice", username: "alice", password: "incorrect horse" };
      await node.newToken(token_limit, alice);
      if (name !== "static-bucket_create")
        await node.call("static-bucket_create", [node.superToken, "site", null, false, true]);
      if (name.startsWith("static-bucket-file") || name === "static-bucket_usage") {
        await node.call("static-bucket-file_upload", {
          token: node.superToken,
          name: "site",
          path: "hello.txt",
          body: "hello",
        });
      }
      if (name === "hooks_test") await addHook(node);
      if (name === "static-bucket-file_thumbnail")
        await node.call("static-bucket-file_upload", {
          token: node.superToken,
          name: "site",
          path: "photo.png",
          base64: onePixel,
        });
      if (name === "static-bucket_usage") await untilCounted(node);
      if (keepsVersions && !name.includes("delete"))
        await node.call("static-bucket-file_delete", [node.superToken, "site", "hello.txt"]);
      const deploy = name.includes("_deploy_") ? await deployOf(node, name) : "";
      const config = JSON.stringify(await readFile(node.configPath, "utf8")).slice(1, -1);
      await using socket = await node.socket();
      const cursor = name === "sql_read" ? await openCursor(socket, node) : "";
      const code = /_totp_(?:confirm|remove)$/.test(name) ? await codeFor(node, name) : "";
      const params: unknown = JSON.parse(
        JSON.stringify(example.params)
          .replaceAll("<SUPER_TOKEN>", node.superToken)
          .replaceAll("<DEPLOY>", deploy)
          .replaceAll("<CURSOR>", cursor)
          .replaceAll("<CODE>", code)
          .replaceAll("<CONFIG>", () => config)
          .replaceAll("v1.2.3", `v${build.cargo_version}`),
      );
      const reply = await socket.call(name, params);
      expect(reply.error).toBeUndefined();
      result.parse(reply.result);
      if (event === undefined && !variable.has(name))
        expect(shapeOf(reply.result)).toEqual(shapeOf(example.result));
    });
  }
});

/** An open deploy for the methods that fill, publish or delete one; for the others one that is published, with another one before it. */
async function deployOf(node: TestNode, method: string): Promise<string> {
  const { superToken: token } = node;
  const name = "site";
  await node.call("static-bucket-file_upload", { token, name, path: "hello.txt", body: "hello" });
  if (method.endsWith("_begin")) return "";
  const { deploy } = (await node.call("static-bucket_deploy_begin", { token, name })) as { deploy: string };
  if (/_(?:list|rollback)$/.test(method))
    await node.call("static-bucket_deploy_publish", { token, name, deploy });
  return deploy;
}

async function addHook(node: TestNode): Promise<void> {
  const text = await readFile(node.configPath, "utf8");
  const hook = '\n[[hooks]]\nurl = "http://127.0.0.1:9/"\nsecret = "the-output-of-openssl-rand-base64-32"\n';
  await writeFile(node.configPath, text + hook);
  await node.node.reload();
}

async function openCursor(socket: TestSocket, { superToken: token }: TestNode): Promise<string> {
  const { result } = await socket.call("sql_open", { token, sql: "SELECT id, token_key FROM token LIMIT 1" });
  return (result as { cursor: string }).cursor;
}

/** Files are counted in the background. */
async function untilCounted(node: TestNode): Promise<void> {
  const usage = () =>
    node.call("static-bucket_usage", [node.superToken, "site"]) as Promise<{ files: number } | null>;
  for (let look = 0; look < 600; look += 1) {
    if ((await usage())?.files === 1) return;
    await Bun.sleep(50);
  }
  throw new Error("the bucket was not counted within 30 s");
}

/** A code with which Alice turns two-factor sign-in on, or with which she turns it off. */
async function codeFor(node: TestNode, name: string): Promise<string> {
  const token = "alice|incorrect horse";
  const begun = await node.call("session_totp_begin", { token, password: "incorrect horse" });
  const { secret } = begun as { secret: string };
  const code = codeAt(bytesOfBase32(secret), Math.floor(Date.now() / 30_000));
  if (name === "session_totp_confirm") return code;
  const confirmed = await node.call("session_totp_confirm", { token, code });
  return (confirmed as { recovery_codes: string[] }).recovery_codes[0] ?? "";
}

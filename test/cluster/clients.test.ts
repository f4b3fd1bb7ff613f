import { describe, expect, test } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openBalancer } from "../support/cluster/balancer.ts";
import { basic, s3Host, superToken } from "../support/cluster/cluster.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { sendTo } from "../support/process.ts";
import { clientWith, type S3Keys } from "../support/s3.ts";
import { hasSeaweed } from "../support/seaweed.ts";
import { findTool, randomBytes, type Tool } from "../support/tools.ts";

/** The limit of a story: the first one starts the cluster, and a client sends hundreds of requests one after another. */
const clientMs = 180_000;

const [key = "", secret = ""] = superToken.split(":");

/** A client on three nodes with files in S3: each of its requests goes to another node. It gets a folder of its own, at `base`. */
async function withClient(
  program: string,
  story: (tool: Tool, base: string) => Promise<void>,
): Promise<void> {
  await using tool = await findTool(`the ${program} story on three nodes`, program);
  const cluster = await sharedCluster();
  await using balancer = await openBalancer("nginx", cluster.nodes);
  if (tool === undefined || balancer === undefined) return;
  const base = `${balancer.url}/node/static-webdav/site/${program}`;
  const made = await fetch(base, { method: "MKCOL", headers: { authorization: basic(superToken) } });
  expect(made.status).toBe(201);
  await story(tool, base);
}

describe.skipIf(!hasSeaweed)("three nodes with files in S3, each request to another of them", () => {
  test(
    "passes all 104 tests of litmus, with no warning and none skipped",
    async () => {
      await withClient("litmus", async (tool, base) => {
        const args = ["--keep-going", `${base}/`, key, secret];
        const { code, stdout } = await tool.run(args, {
          env: { TESTS: "basic copymove props locks http" },
          patienceMs: 170_000,
        });
        const lines = stdout.split(/[\r\n]+/);
        const usual = /^$|^-> running `\w+':$|^<- summary for|^ *\d+\. [\w.]+ (pass)?$/;
        expect({
          otherwise: lines.filter((line) => !usual.test(line)),
          passed: lines.filter((line) => /^ *\d+\. [\w.]+ pass$/.test(line)).length,
          code,
        }).toEqual({ otherwise: [], passed: 104, code: 0 });
      });
    },
    clientMs,
  );

  test(
    "keeps what rclone syncs, and gives it back unchanged",
    async () => {
      await withClient("rclone", async (tool, base) => {
        const quiet = { RCLONE_CONFIG: join(tool.home, "none.conf") };
        const env = {
          ...quiet,
          RCLONE_WEBDAV_URL: base,
          RCLONE_WEBDAV_VENDOR: "other",
          RCLONE_WEBDAV_USER: key,
          RCLONE_WEBDAV_PASS: (await tool.does(["obscure", "-"], { stdin: secret, env: quiet })).trim(),
          RCLONE_RETRIES: "1",
          RCLONE_LOW_LEVEL_RETRIES: "1",
        };
        const rclone = (...args: string[]) => tool.run(args, { env, patienceMs: 120_000 });
        const local = join(tool.home, "local");
        for (const folder of ["a/b", "c", "empty"]) await mkdir(join(local, folder), { recursive: true });
        for (let at = 0; at < 60; at += 1)
          await writeFile(
            join(local, ["", "a", "a/b", "c"][at % 4] ?? "", `é ${at}.txt`),
            `content of ${at}`,
          );
        await writeFile(join(local, "none.txt"), "");
        await writeFile(join(local, "large.bin"), randomBytes(20 * 1024 * 1024));
        const sync = ["sync", "--create-empty-src-dirs", local, ":webdav:"];
        expect(await rclone(...sync)).toMatchObject({ code: 0 });
        const checked = await rclone("check", "--download", local, ":webdav:");
        expect(checked.stderr).toContain("0 differences found");
        expect(checked.stderr).toContain("62 matching files");
        expect(await rclone("moveto", ":webdav:a", ":webdav:moved")).toMatchObject({ code: 0 });
        expect(await rclone(...sync)).toMatchObject({ code: 0 });
        expect((await rclone("check", "--download", local, ":webdav:")).stderr).toContain(
          "0 differences found",
        );
      });
    },
    clientMs,
  );

  test(
    "keeps what aws puts over S3, in parts too, with the conditions of two at once",
    async () => {
      await withClient("aws", async (tool, base) => {
        const cluster = await sharedCluster();
        const { result } = await sendTo(cluster.node(0).url, "token_s3_credentials", [superToken]);
        const keys = result as S3Keys;
        // The name of S3 leads to the balancer, and each request from there to another node.
        const env = {
          AWS_ACCESS_KEY_ID: keys.access_key_id,
          AWS_SECRET_ACCESS_KEY: keys.secret_access_key,
          AWS_DEFAULT_REGION: "us-east-1",
          HTTP_PROXY: new URL(base).origin,
        };
        const aws = (...args: string[]) =>
          tool.run(["--endpoint-url", `http://${s3Host}`, ...args], { env, patienceMs: 120_000 });
        const done = async (...args: string[]) => {
          const { code, stdout, stderr } = await aws(...args);
          expect([args, code, stderr]).toEqual([args, 0, ""]);
          return stdout;
        };
        const large = randomBytes(30 * 1024 * 1024);
        await writeFile(join(tool.home, "large.bin"), large);
        await done("s3", "cp", "--no-progress", "large.bin", "s3://site/aws/large.bin");
        await done("s3", "cp", "--no-progress", "s3://site/aws/large.bin", "s3://site/aws/copy.bin");
        for (let n = 0; n < 3; n += 1) {
          await done("s3", "cp", "--no-progress", "s3://site/aws/copy.bin", "back.bin");
          expect(Buffer.from(large).equals(await readFile(join(tool.home, "back.bin")))).toBe(true);
        }
        expect(await done("s3", "ls", "s3://site/aws/")).toMatch(/copy\.bin[\s\S]*large\.bin/);
        const { s3, put } = clientWith({ url: new URL(base).origin }, keys);
        const taken = Array.from({ length: 6 }, (_, n) =>
          put("/site/aws/lock", String(n), { "if-none-match": "*" }),
        );
        const statuses = (await Promise.all(taken)).map(({ status }) => status).sort();
        expect(statuses).toEqual([200, 412, 412, 412, 412, 412]);
        await done("s3", "rm", "--recursive", "s3://site/aws/");
        for (let n = 0; n < 3; n += 1) expect((await s3({ path: "/site/aws/lock" })).status).toBe(404);
      });
    },
    clientMs,
  );

  test(
    "is used by cadaver for files, folders and locks",
    async () => {
      await withClient("cadaver", async (tool, base) => {
        await writeFile(join(tool.home, ".netrc"), `machine 127.0.0.1 login ${key} password ${secret}\n`, {
          mode: 0o600,
        });
        await writeFile(join(tool.home, "a.txt"), "content of a");
        const commands = [
          "mkcol folder",
          "put a.txt",
          "copy a.txt folder/copied.txt",
          "lock a.txt",
          "put a.txt",
          "unlock a.txt",
          "move a.txt folder/moved.txt",
          "get folder/moved.txt back.txt",
          "delete folder/copied.txt",
          "ls folder",
          "quit",
        ];
        const said = await tool.does([`${base}/`], { stdin: `${commands.join("\n")}\n` });
        expect(said).not.toMatch(/fail|error|could not/i);
        expect(said).toMatch(/ moved\.txt +12 /);
        expect(await readFile(join(tool.home, "back.txt"), "utf8")).toBe("content of a");
      });
    },
    clientMs,
  );
});

import { expect, test } from "bun:test";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { freePort } from "../support/postgres.ts";
import { applied, type Home, newHome, refused, type Server } from "../support/process.ts";
import { readyOf } from "../support/ready.ts";
import { until } from "../support/until.ts";

const urlOf = (home: Home) => `url = ${JSON.stringify(pathToFileURL(home.file("blobs")).href)}\n`;
const secret = "hunter2-of-the-test";

async function upload(server: Server, path: string, token = server.superToken) {
  await server.call("static-bucket-file_upload", { token, name: "site", path, body: "hello" });
}

test("check --connect and a start say what is wrong with the store, and what to do", async () => {
  await using home = await newHome();
  await home.configure({ files: urlOf(home) });
  for (const args of [["check"], ["check", "--connect"], ["serve"]]) {
    const { code, stderr } = await home.run(args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toMatch(
      /files\.url: names .*blobs, which does not exist; mount its file system, or create it/,
    );
  }
  await mkdir(home.file("blobs"));
  const { code, stdout } = await home.run(["check", "--connect"]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/The store file:.* can be used\./),
  });
  const port = await freePort();
  await home.configure({
    files: `url = "s3://bucket/prefix"\nendpoint = "http://127.0.0.1:${port}"\naccess_key_id = "AKIAX"\nsecret_access_key = "${secret}"\nrequest_timeout_ms = 500\n`,
  });
  expect(await home.run(["check"])).toMatchObject({ code: 0 });
  for (const args of [["check", "--connect"], ["serve"]]) {
    const { code, stdout, stderr } = await home.run(args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toMatch(/the bucket bucket at http:.* cannot be used: /);
    expect(stdout + stderr).not.toContain(secret);
  }
});

test("a reload changes the store only if that has the files of all buckets", async () => {
  await using home = await newHome();
  await mkdir(home.file("blobs"));
  const server = await home.serve();
  const token = server.superToken;
  await home.configure({ files: urlOf(home) });
  expect(await server.reload()).toMatchObject(applied("database"));
  await server.call("static-bucket_create", { token, name: "site" });
  await upload(server, "a.txt");
  expect(await readdir(home.path)).not.toContain("static");
  await home.configure();
  expect(await server.reload()).toMatchObject({
    ...refused,
    line: expect.stringMatching(/file:.*blobs.*`node-server migrate --files disk`/),
  });
  expect(await (await fetch(`${server.url}/node/static/site/a.txt`)).text()).toBe("hello");
  await server.call("static-bucket_delete", { token, name: "site" });
  expect(await server.reload()).toMatchObject(applied("database"));
  await server.stop();
});

test("a start on a store without the files of a bucket warns, and answers no file as deleted", async () => {
  await using home = await newHome();
  await mkdir(home.file("blobs"));
  const first = await home.serve();
  const token = first.superToken;
  await first.call("static-bucket_create", { token, name: "site" });
  await upload(first, "a.txt");
  await first.stop();
  await home.configure({ files: urlOf(home) });
  const second = await home.serve();
  expect((await fetch(`${second.url}/node/static/site/a.txt`)).status).toBe(503);
  await second.call("static-bucket_update", { token, name: "site" });
  expect((await fetch(`${second.url}/node/static/site/a.txt`)).status).toBe(404);
  await upload(second, "b.txt", token);
  expect(await (await fetch(`${second.url}/node/static/site/b.txt`)).text()).toBe("hello");
  const { stdout, stderr } = await second.stop();
  expect(stdout + stderr).toMatch(/WARN server: the file store does not know some buckets.*site/);
});

test("a store that is lost is reported once, and readiness names it until it is back", async () => {
  await using home = await newHome();
  await mkdir(home.file("blobs"));
  await home.configure({ files: urlOf(home) });
  const server = await home.serve();
  const token = server.superToken;
  await server.call("static-bucket_create", { token, name: "site" });
  await upload(server, "a.txt");
  expect(await readyOf(server)).toMatchObject({ status: 200 });
  await rename(home.file("blobs"), home.file("away"));
  await until("/node/ready names the store", async () =>
    Bun.deepEquals((await readyOf(server)).missing, ["store"]),
  );
  // The names are in the database.
  expect(await server.call("static-bucket-file_list", { token, name: "site" })).toHaveLength(1);
  await rm(home.file("blobs"), { recursive: true, force: true });
  await rename(home.file("away"), home.file("blobs"));
  await until("/node/ready names nothing", async () => (await readyOf(server)).status === 200);
  expect(await (await fetch(`${server.url}/node/static/site/a.txt`)).text()).toBe("hello");
  const { stdout, stderr } = await server.stop();
  const log = stdout + stderr;
  expect(log.match(/the file store cannot be used/g)).toHaveLength(1);
  expect(log.match(/the file store can be used again/g)).toHaveLength(1);
});

test("a start before the file system of the store is mounted is refused, and writes nothing below the mount", async () => {
  await using home = await newHome();
  await mkdir(home.file("blobs"));
  await home.configure({ files: urlOf(home) });
  const server = await home.serve();
  await server.call("static-bucket_create", { token: server.superToken, name: "site" });
  await upload(server, "a.txt");
  await server.stop();
  await rename(home.file("blobs"), home.file("away"));
  await mkdir(home.file("blobs"));
  for (const args of [["check", "--connect"], ["serve"]]) {
    const { code, stderr } = await home.run(args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toMatch(
      /blobs of \[files\] url is empty, but the database names files in it; mount its file system again/,
    );
  }
  expect(await readdir(home.file("blobs"))).toEqual([]);
  // What an operator does whose content is lost for good.
  const claimed = await home.run(["check", "--files", "--claim"]);
  expect(claimed.stderr).toMatch(/This database is the owner of file:.*blobs now\./);
  const again = await home.serve();
  expect((await fetch(`${again.url}/node/static/site/a.txt`)).status).toBe(502);
  await upload(again, "a.txt", server.superToken);
  expect(await (await fetch(`${again.url}/node/static/site/a.txt`)).text()).toBe("hello");
  await again.stop();
});

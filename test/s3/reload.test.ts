import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { type TestNode, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { clientWith, codeOf, type S3Request, s3Site, signed } from "../support/s3.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

/** How many uploads a node is taking. */
function uploadsOf({ node }: TestNode): number | undefined {
  const family = node.families.find(({ name }) => name === "node_server_uploads_in_progress");
  return family === undefined || family.type === "histogram" ? undefined : [...family.samples()][0]?.value;
}

test("a reload adds, moves and removes the listener of S3, and changes its host", async () => {
  await using node = await testNode();
  const { keys, bucket } = await s3Site(node);
  const before = await Bun.file(node.configPath).text();
  const reload = async (lines: string) => {
    await writeFile(node.configPath, `${before}\n[s3]\n${lines}`);
    expect(await node.node.reload()).not.toBe("unchanged");
  };
  const at = (host: string, request: S3Request, url = node.url) =>
    clientWith({ url }, keys).raw(request, signed(keys, { ...request, host }));
  const object = { path: `/${bucket}/a`, body: "content" };
  const list = { path: `/${bucket}` };
  const listener = async (address: string) => codeOf(await at(address, list, `http://${address}`));
  const isGone = (address: string) =>
    fetch(`http://${address}/`, { keepalive: false }).then(
      () => false,
      () => true,
    );
  const [first, second] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  expect(await isGone(first)).toBe(true);
  await reload(`listener = "${first}"\n`);
  expect((await at(first, { ...object, method: "PUT" }, `http://${first}`)).status).toBe(200);
  // An upload that is under way when the listener moves is finished.
  let release = () => {};
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from("slow "));
      await new Promise<void>((resolve) => (release = resolve));
      controller.enqueue(Buffer.from("upload"));
      controller.close();
    },
  });
  const slow = { method: "PUT", path: `/${bucket}/slow`, payload: "UNSIGNED-PAYLOAD" };
  const sending = fetch(`http://${first}${slow.path}`, {
    method: "PUT",
    headers: signed(keys, { ...slow, host: first }),
    body,
  });
  await until("the upload has begun", () => uploadsOf(node) === 1);
  await reload(`listener = "${second}"\n`);
  expect(await listener(second)).toBe("200");
  release();
  expect((await sending).status).toBe(200);
  await until("the old listener is closed", () => isGone(first));
  expect(await (await at(second, { path: slow.path }, `http://${second}`)).text()).toBe("slow upload");
  await reload('host = "s3.one.test"\n');
  await until("the listener is closed", () => isGone(second));
  expect((await at("s3.one.test", list)).status).toBe(200);
  const virtual = { path: "/a", host: `${bucket}.s3.one.test` };
  expect(await (await at(virtual.host, virtual)).text()).toBe("content");
  await reload(`host = "s3.two.test"\nlistener = "${first}"\n`);
  expect((await at("s3.two.test", list)).status).toBe(200);
  expect(await listener(first)).toBe("200");
  // The old name is a name like any other now: no part of it speaks S3.
  expect(await (await at("s3.one.test", list)).text()).not.toContain("ListBucketResult");
  await reload("");
  expect(await (await at("s3.two.test", list)).text()).not.toContain("ListBucketResult");
  await until("the listener is closed", () => isGone(first));
});

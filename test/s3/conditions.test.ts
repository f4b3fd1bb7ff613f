import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { everyStore, testNode } from "../support/node.ts";
import { codeOf, s3Options, s3Site } from "../support/s3.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const openNode = sharedNodes();
const md5 = (text: string) => createHash("md5").update(text).digest("hex");
type Site = Awaited<ReturnType<typeof s3Site>>;

/** Conditions on the tag of S3, with what they are answered. */
async function readsByCondition({ s3, put, bucket }: Site): Promise<void> {
  for (const size of [100, 300_000]) {
    const path = `/${bucket}/of${size}`;
    const content = "z".repeat(size);
    await put(path, content);
    const tag = md5(content);
    const read = async (headers: Record<string, string>) => {
      const answer = await s3({ path, headers });
      return [answer.status, (await answer.text()).length];
    };
    expect(await read({ "if-match": `"${tag}"` })).toEqual([200, size]);
    expect(await read({ "if-match": tag })).toEqual([200, size]);
    expect(await read({ "if-match": tag, range: "bytes=0-9" })).toEqual([206, 10]);
    expect(await read({ "if-range": `"${tag}"`, range: "bytes=0-9" })).toEqual([206, 10]);
    expect(await read({ "if-none-match": tag })).toEqual([304, 0]);
    expect(await read({ "if-none-match": md5("other") })).toEqual([200, size]);
    expect(await codeOf(await s3({ path, headers: { "if-match": md5("other") } }))).toBe(
      "412 PreconditionFailed",
    );
  }
}

everyStore("a read with a condition on the tag has the content", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  await readsByCondition(await s3Site(node));
});

if (hasSeaweed)
  test("a read with a condition on the tag has the content of a store in S3", async () => {
    const { location } = await seaweed();
    const files = {
      url: `s3://${location.bucket}/${crypto.randomUUID()}`,
      endpoint: location.endpoint,
      access_key_id: location.accessKeyId,
      secret_access_key: location.secretAccessKey,
    };
    const lines = Object.entries(files).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
    await using node = await testNode({ ...s3Options, files: lines.join("") });
    await readsByCondition(await s3Site(node));
  });

everyStore("of clients that put one lock at once, as Terraform does, one gets it", async (options) => {
  await using node = await openNode({ ...options, ...s3Options });
  const { s3, put, bucket } = await s3Site(node);
  const path = `/${bucket}/terraform.tfstate.tflock`;
  const lock = async (who: string) => [who, await codeOf(await put(path, who, { "if-none-match": "*" }))];
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all(["a", "b", "c", "d"].map(lock));
    const holders = answers.filter(([, answer]) => answer === "200");
    expect(answers.map(([, answer]) => answer).sort()).toEqual([
      "200",
      ...Array.from({ length: 3 }, () => "412 PreconditionFailed"),
    ]);
    expect(await (await s3({ path })).text()).toBe(holders[0]?.[0] ?? "");
    expect((await s3({ method: "DELETE", path })).status).toBe(204);
  }
});

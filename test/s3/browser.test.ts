import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { escapeXml } from "../../src/base/xml.ts";
import { inBrowser, Tab } from "../console/browser.ts";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { presigned, s3Site, signedForm } from "../support/s3.ts";
import { storedFiles } from "../support/stored-site.ts";

/** A node with a listener for S3, and a tab with a page of another origin. */
async function openPage() {
  await using opening = new AsyncDisposableStack();
  const host = `127.0.0.1:${await freePort()}`;
  const node = opening.use(await testNode({ env: { NODE_SERVER_S3_LISTENER: host } }));
  const { keys, bucket } = await s3Site(node);
  let shown = "";
  const pages = Bun.serve({
    port: 0,
    fetch: () =>
      new Response(`<!doctype html><link rel=icon href=data:,><title>a page</title>${shown}`, {
        headers: { "content-type": "text/html" },
      }),
  });
  opening.defer(() => pages.stop(true));
  const tab = opening.use(
    await Tab.open(node, {
      ownContext: true,
      expected: /^a request to|403 \(Forbidden\)|blocked by CORS policy|net::ERR_FAILED/,
    }),
  );
  await tab.page.goto(`http://localhost:${pages.port}/`);
  const opened = opening.move();
  return {
    page: tab.page,
    async show(html: string) {
      shown = html;
      await tab.page.reload();
    },
    home: `http://localhost:${pages.port}/`,
    address: (request: Parameters<typeof presigned>[1]) =>
      `http://${host}${presigned(keys, { ...request, host })}`,
    node,
    host,
    keys,
    bucket,
    stored: storedFiles(node),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

inBrowser(
  "a page of another origin puts and gets with presigned addresses, and reads why it may not",
  async () => {
    await using site = await openPage();
    const { page, address, bucket, stored } = site;
    const path = `/${bucket}/in/photo.jpg`;
    const put = address({ method: "PUT", path });
    const answers = await page.evaluate(
      async ([to = "", from = ""]) => {
        const headers = { "content-type": "image/x-photo" };
        const sent = await fetch(to, {
          method: "PUT",
          body: new Blob(["a photo"]),
          headers,
          credentials: "omit",
        });
        const got = await fetch(from);
        const refused = await fetch(`${from}0`);
        return [
          [sent.status, sent.headers.get("etag")],
          [got.status, await got.text(), got.headers.get("content-type"), got.headers.get("etag")],
          [refused.status, (await refused.text()).includes("<Code>SignatureDoesNotMatch</Code>")],
          // The answer is not for pages that would send cookies.
          await fetch(from, { credentials: "include" }).then(
            () => "read",
            () => "kept",
          ),
        ];
      },
      [put, address({ path })],
    );
    const etag = `"${new Bun.CryptoHasher("md5").update("a photo").digest("hex")}"`;
    expect(answers).toEqual([[200, etag], [200, "a photo", "image/x-photo", etag], [403, true], "kept"]);
    expect(await stored.text("in/photo.jpg")).toBe("a photo");
  },
);

inBrowser("a page posts a form by its script, and a visitor sends one", async () => {
  await using site = await openPage();
  const { page, host, keys, bucket, home, stored } = site;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of the file, as forms of S3 have it
  const key = "in/${filename}";
  const conditions = [{ bucket }, ["starts-with", "$key", "in/"], ["content-length-range", 1, 1000]];
  const fields = signedForm(keys, { bucket, fields: { key }, conditions });
  const post = `http://${host}/${bucket}`;
  const answer = await page.evaluate(
    async ([to, all]) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(all)) form.append(name, value);
      form.append("file", new File(["by a script"], "ü 1.txt"));
      const sent = await fetch(to, { method: "POST", body: form });
      return [sent.status, sent.headers.get("etag") !== null];
    },
    [post, fields] as const,
  );
  expect(answer).toEqual([204, true]);
  expect(await stored.text("in/ü 1.txt")).toBe("by a script");
  const back = { success_action_redirect: home };
  const sent = signedForm(keys, { bucket, fields: { key, ...back }, conditions: [...conditions, back] });
  const inputs = Object.entries(sent).map(
    ([name, value]) => `<input name="${name}" value="${escapeXml(value)}">`,
  );
  const file = '<input type="file" name="file"><button name="send" value="1">Send</button>';
  await site.show(
    `<form method="post" enctype="multipart/form-data" action="${post}">${inputs.join("")}${file}</form>`,
  );
  await page
    .locator("input[type=file]")
    .setInputFiles({ name: "two.txt", mimeType: "text/plain", buffer: Buffer.from("by a visitor") });
  await page.getByText("Send").click();
  await page.waitForURL(/[?&]key=in%2Ftwo\.txt/);
  expect(await stored.text("in/two.txt")).toBe("by a visitor");
});

inBrowser(
  "the AWS SDK for JavaScript works in a page",
  async () => {
    await using site = await openPage();
    const { page, node, keys, host, bucket, stored } = site;
    const entry = join(node.folder, "sdk.ts");
    const sdk = resolve(import.meta.dir, "../../node_modules/@aws-sdk/client-s3");
    await writeFile(entry, `import * as sdk from ${JSON.stringify(sdk)};\nglobalThis.sdk = sdk;\n`);
    const built = await Bun.build({
      entrypoints: [entry],
      target: "browser",
      outdir: join(node.folder, "sdk"),
    });
    await page.addScriptTag({ content: await readFile(built.outputs[0]?.path ?? "", "utf8") });
    const said = await page.evaluate(
      async ([endpoint, Bucket, accessKeyId, secretAccessKey]) => {
        const { sdk } = globalThis as unknown as { sdk: typeof import("@aws-sdk/client-s3") };
        const { S3Client, PutObjectCommand, GetObjectCommand, ListObjectsV2Command, DeleteObjectCommand } =
          sdk;
        const credentials = { accessKeyId, secretAccessKey };
        const s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
        await s3.send(
          new PutObjectCommand({
            Bucket,
            Key: "a b",
            Body: new TextEncoder().encode("from a page"),
            Metadata: { a: "1" },
          }),
        );
        const got = await s3.send(new GetObjectCommand({ Bucket, Key: "a b", ChecksumMode: "ENABLED" }));
        const text = await got.Body?.transformToString();
        const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }));
        await s3.send(new DeleteObjectCommand({ Bucket, Key: "a b" }));
        return [text, got.Metadata, Contents?.map(({ Key }) => Key)];
      },
      [`http://${host}`, bucket, keys.access_key_id, keys.secret_access_key] as const,
    );
    expect(said).toEqual(["from a page", { a: "1" }, ["a b"]]);
    expect(await stored.exists("a b")).toBe(false);
  },
  60_000,
);

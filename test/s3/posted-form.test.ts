import { expect } from "bun:test";
import { readForm } from "../../src/http/s3/posted-form.ts";
import { everyStore } from "../support/node.ts";
import {
  codeOf,
  type FormRequest,
  formOf,
  s3Client,
  s3Host,
  s3Options,
  s3Site,
  signedForm,
  textsIn,
} from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const openNode = sharedNodes();

/** A site with a form for it. */
async function openForm(options: Parameters<typeof openNode>[0]) {
  const node = await openNode(options);
  const site = await s3Site(node);
  const { bucket, keys } = site;
  const post = (body: FormData | string, headers: Record<string, string> = {}, to: string = bucket) =>
    fetch(`${node.url}/${to}`, {
      method: "POST",
      headers: { host: s3Host, ...headers },
      redirect: "manual",
      body,
    });
  const form = (fields: Record<string, string>, more: Partial<FormRequest> = {}) =>
    signedForm(keys, { bucket, fields, ...more });
  const file = (content = "content", name = "photo.jpg") => new File([content], name);
  return { ...site, node, post, form, file };
}

everyStore("a form puts its file, with its headers, and is answered as it asks", async (options) => {
  const { node, s3, bucket, post, form, file } = await openForm({ ...options, ...s3Options });
  await using _ = node;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of the file, as forms of S3 have it
  const fields = { key: "in/${filename}", "Content-Type": "image/x-photo", "x-amz-meta-a": "1" };
  const conditions = [
    { bucket },
    ["starts-with", "$key", "in/"],
    ["starts-with", "$content-type", "image/"],
    ["eq", "$x-amz-meta-a", "1"],
    ["content-length-range", 1, 100],
  ];
  const stored = await post(formOf(form(fields, { conditions }), file("content", "C:\\ü photo.jpg")));
  expect([stored.status, stored.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
  expect(stored.headers.get("access-control-allow-credentials")).toBe(null);
  const path = `/${bucket}/in/${encodeURIComponent("ü photo.jpg")}`;
  const read = await s3({ path });
  expect([await read.text(), read.headers.get("content-type"), read.headers.get("x-amz-meta-a")]).toEqual([
    "content",
    "image/x-photo",
    "1",
  ]);
  expect(read.headers.get("etag")).toBe(stored.headers.get("etag"));
  const created = await post(formOf(form({ key: "b", success_action_status: "201" }), file()));
  const answer = await created.text();
  expect([created.status, ...textsIn(answer, "Bucket"), ...textsIn(answer, "Key")]).toEqual([
    201,
    bucket,
    "b",
  ]);
  const to = "https://example.com/thanks?a=1";
  const moved = await post(formOf(form({ key: "c", success_action_redirect: to }), file()));
  expect([moved.status, moved.headers.get("location")]).toEqual([
    303,
    expect.stringContaining(`${to}&bucket=${bucket}&key=c&etag=`),
  ]);
  const script = await post(formOf(form({ key: "d", success_action_redirect: "javascript:a" }), file()));
  expect([script.status, script.headers.get("location")]).toEqual([
    204,
    expect.stringContaining(`/${bucket}/d`),
  ]);
});

everyStore("what a policy does not allow is refused, and nothing is stored", async (options) => {
  const { node, s3, bucket, post, form, file, keys } = await openForm({ ...options, ...s3Options });
  await using _ = node;
  const fields = { key: "in/a", "content-type": "image/png" };
  const exact = [
    ["eq", "$key", "in/a"],
    ["starts-with", "$content-type", "image/"],
  ];
  const allowed = [{ bucket }, ...exact];
  const send = async (made: Record<string, string>, content = "content") =>
    codeOf(await post(formOf(made, file(content))));
  const sized = (min: unknown, max: unknown) =>
    form(fields, { conditions: [...allowed, ["content-length-range", min, max]] });
  const now = Date.now();
  const good = form(fields, { conditions: allowed });
  const refused: readonly string[] = await Promise.all([
    send({ ...good, key: "in/b" }),
    send({ ...good, "content-type": "image/png, text/html" }),
    send(
      form(
        { ...fields, key: " in/a" },
        {
          conditions: [
            { bucket },
            ["starts-with", "$key", "in/"],
            ["starts-with", "$content-type", "image/"],
          ],
        },
      ),
    ),
    send({ ...good, "x-amz-meta-a": "1" }),
    send({ ...good, bucket: "other" }),
    send(form(fields, { conditions: exact })),
    send(form(fields, { conditions: [{ bucket }, ["starts-with", "$content-type", ""]] })),
    send(form(fields, { conditions: [{ bucket: "other" }, ...exact] })),
    send(form(fields, { conditions: allowed, expires: now - 1 })),
    send(form(fields, { conditions: allowed, at: now - 8 * 86_400_000, expires: now + 60_000 })),
    send(form(fields, { conditions: allowed, at: now + 16 * 60_000 })),
    send(sized(8, 9)),
    send(sized(1, 6)),
    send(sized("x", 6)),
    send(form(fields, { conditions: [...allowed, ["matches", "$key", "a"]] })),
    send(form(fields, { conditions: [...allowed, ["eq", "key", "a"]] })),
    send({ ...good, policy: `${good.policy?.slice(0, -8)}AAAAAAAA` }),
    send({ ...good, "x-amz-signature": "0".repeat(64) }),
    send({ ...good, "x-amz-date": "" }),
    send({ ...good, "x-amz-algorithm": "AWS4" }),
    send(signedForm({ ...keys, access_key_id: "AAAAAAAAAAAAAAAA" }, { bucket, fields, conditions: allowed })),
    send(form({ ...fields, acl: "public-read" })),
    send(form({ ...fields, key: "in/" })),
    send(form({ ...fields, key: "../a" })),
    send(form({ ...fields, "x-amz-meta-a b": "1" })),
    send(form({ ...fields, "x-amz-checksum-crc32": "AAAAAA==" })),
    send(form({ ...fields, "content-disposition": "a".repeat(5000) })),
    send(fields),
  ]);
  expect(refused).toEqual([
    ...Array.from({ length: 11 }, () => "403 AccessDenied"),
    "400 EntityTooSmall",
    "400 EntityTooLarge",
    ...Array.from({ length: 3 }, () => "400 InvalidPolicyDocument"),
    ...Array.from({ length: 2 }, () => "403 SignatureDoesNotMatch"),
    ...Array.from({ length: 2 }, () => "400 InvalidArgument"),
    "403 SignatureDoesNotMatch",
    "501 NotImplemented",
    ...Array.from({ length: 3 }, () => "400 InvalidArgument"),
    "400 BadDigest",
    "400 MetadataTooLarge",
    "403 AccessDenied",
  ]);
  expect(textsIn(await (await s3({ path: `/${bucket}` })).text(), "Key")).toEqual([]);
  // A policy proves nothing but its upload.
  const upload = form({ ...fields, "x-ignore-a": "1" });
  for (const to of [
    `${bucket}?delete`,
    `${bucket}/in/a?uploads`,
    `${bucket}/in/a?uploadId=a`,
    `${bucket}/in/a`,
    "",
  ])
    expect([to, (await post(formOf(upload, file()), {}, to)).status]).toEqual([
      to,
      to === `${bucket}/in/a` || to === "" ? 405 : 403,
    ]);
  // The form is good for its bucket alone, and as long as its token is.
  const limit = [{ scopes: [{ static_bucket: bucket }], permissions: [{ static_bucket_file: "write" }] }];
  const token = await node.newToken(limit);
  const { keys: own } = await s3Client(node, token);
  const other = node.own("other");
  await node.call("static-bucket_create", { token: node.superToken, name: other });
  const made = signedForm(own, { bucket, fields, conditions: allowed });
  expect(await codeOf(await post(formOf(made, file()), {}, other))).toBe("403 AccessDenied");
  expect((await post(formOf(made, file()))).status).toBe(204);
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
  expect(await codeOf(await post(formOf(made, file("new"))))).toBe("403 SignatureDoesNotMatch");
  expect(await (await s3({ path: `/${bucket}/in/a` })).text()).toBe("content");
});

test("a form that is cut off, too long or not one is refused, and what is behind the file means nothing", async () => {
  const { node, s3, bucket, post, form } = await openForm(s3Options);
  await using _ = node;
  const type = { "content-type": "multipart/form-data; boundary=b" };
  const field = (name: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const proof = (key: string) =>
    Object.entries(form({ key }))
      .map(([name, text]) => field(name, text))
      .join("");
  const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nfile--b\r\n--';
  const end = "\r\n--b--\r\n";
  const send = async (body: string, headers: Record<string, string> = type) =>
    codeOf(await post(body, headers));
  expect(await send(`${proof("a")}${file}${end}`)).toBe("204");
  expect(await (await s3({ path: `/${bucket}/a` })).text()).toBe("file--b\r\n--");
  expect(await send(`${proof("a2")}${file}\r\n${field("key", "other")}${field("submit", "Send")}--b--`)).toBe(
    "204",
  );
  // A line that only begins with the boundary is content; blanks behind the boundary are not.
  const odd = `${proof("a3")}${file}\r\n--bc\r\n--b \t\r\n${field("submit", "").slice(5)}--b--`;
  expect(await send(odd)).toBe("204");
  expect(await (await s3({ path: `/${bucket}/a3` })).text()).toBe("file--b\r\n--\r\n--bc");
  for (const cut of ["", "\r\n--b", "\r\n--b-", "\r\n--b\r\n", "\r\n--b \r\n--b"])
    expect([cut, await send(`${proof("b")}${file}${cut}`)]).toEqual([cut, "400 IncompleteBody"]);
  expect(await send(proof("b"))).toBe("400 IncompleteBody");
  expect(await send(`${proof("b")}--b--\r\n`)).toBe("400 MalformedPOSTRequest");
  expect(await send(`${proof("b")}${field("key", "c")}${file}${end}`)).toBe("400 MalformedPOSTRequest");
  expect(await send(`x${proof("b")}${file}${end}`)).toBe("400 MalformedPOSTRequest");
  expect(await send(`${field("x-ignore-a", "a".repeat(70_000))}${proof("b")}${file}${end}`)).toBe(
    "400 MalformedPOSTRequest",
  );
  expect(await send(`--b\r\n${"a".repeat(70_000)}`)).toBe("400 MalformedPOSTRequest");
  expect(await send(`${proof("b")}${file}\r\n${field("more", "a".repeat(200_000))}--b--`)).toBe(
    "400 MalformedPOSTRequest",
  );
  expect(await send(`${proof("b")}${file}${end}`, { "content-type": "multipart/form-data; charset=b" })).toBe(
    "400 MalformedPOSTRequest",
  );
  expect(await send("a=b", { "content-type": "application/x-www-form-urlencoded" })).toBe("403 AccessDenied");
  expect(textsIn(await (await s3({ path: `/${bucket}` })).text(), "Key")).toEqual(["a", "a2", "a3"]);
});

test("a file that is full of what could be its end is passed on as it comes", async () => {
  const chunks = 1000;
  const almostEnd = `${"x".repeat(60)}\r\n--end `;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const text =
        sent === 0
          ? '--end\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
          : sent <= chunks
            ? almostEnd
            : "x\r\n--end--\r\n";
      controller.enqueue(Buffer.from(text));
      if (sent > chunks) controller.close();
      sent += 1;
    },
  });
  const headers = { "content-type": "multipart/form-data; boundary=end" };
  const { content } = await readForm(new Request("http://localhost/", { method: "POST", headers, body }));
  const read: Uint8Array[] = [];
  let before = sent;
  let longestWait = 0;
  for await (const chunk of content) {
    longestWait = Math.max(longestWait, sent - before);
    before = sent;
    read.push(chunk);
  }
  expect(Buffer.concat(read).toString()).toBe(`${almostEnd.repeat(chunks)}x`);
  expect(longestWait).toBeLessThan(10);
});

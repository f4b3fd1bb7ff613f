import { expect } from "bun:test";
import { Body } from "../../src/http/s3/chunked-body.ts";
import { Signature } from "../../src/http/s3/signature.ts";
import { loggedIn } from "../support/cli.ts";
import { testCluster } from "../support/cluster.ts";
import {
  clientWith,
  codeOf,
  presigned,
  s3Client,
  s3Host,
  s3Options,
  s3Site,
  signed,
  signingOf,
} from "../support/s3.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const openNode = sharedNodes();
const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const at = Date.parse("2013-05-24T00:00:00Z");
const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

function example(
  method: string,
  target: string,
  { headers, names, signature }: { headers: Record<string, string>; names: string; signature: string },
) {
  const authorization = `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${signature}`;
  const request = new Request(`http://ignored${target}`, {
    method,
    headers: {
      host: "examplebucket.s3.amazonaws.com",
      "x-amz-date": "20130524T000000Z",
      ...headers,
      authorization,
    },
  });
  const [rawPath = "", rawQuery = ""] = target.split("?");
  return Signature.read({ request, rawPath, rawQuery }, at);
}

test("the signatures of the official examples are right", () => {
  const get = { "x-amz-content-sha256": empty };
  const examples = [
    example("GET", "/test.txt", {
      headers: { ...get, range: "bytes=0-9" },
      names: "host;range;x-amz-content-sha256;x-amz-date",
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    }),
    example("PUT", "/test%24file.text", {
      headers: {
        date: "Fri, 24 May 2013 00:00:00 GMT",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      },
      names: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    }),
    example("GET", "/?lifecycle", {
      headers: get,
      names: "host;x-amz-content-sha256;x-amz-date",
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    }),
    example("GET", "/?max-keys=2&prefix=J", {
      headers: get,
      names: "host;x-amz-content-sha256;x-amz-date",
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    }),
  ];
  expect(examples.map((one) => one?.isSignedWith(secret))).toEqual([true, true, true, true]);
  expect(examples.map((one) => one?.isSignedWith(`${secret}x`))).toEqual([false, false, false, false]);
});

test("the presigned address of the official example is right, for a day", () => {
  const rawQuery =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
  const request = new Request(`http://ignored/test.txt?${rawQuery}`, {
    headers: { host: "examplebucket.s3.amazonaws.com" },
  });
  const read = (nowMs: number) => Signature.read({ request, rawPath: "/test.txt", rawQuery }, nowMs);
  expect(read(at)?.isSignedWith(secret)).toBe(true);
  expect(() => read(at + 86_401_000)).toThrow("expired");
});

async function contentOf(request: Request, signature: Signature): Promise<string> {
  let text = "";
  for await (const chunk of new Body(request, signature).chunks()) text += Buffer.from(chunk).toString();
  return text;
}

const chunkedExamples = [
  {
    payload: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    names:
      "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class",
    headers: { "content-length": "66824" },
    signatures: [
      "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
      "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
      "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
      "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ],
    trailer: "",
  },
  {
    payload: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    names:
      "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer",
    headers: { "x-amz-trailer": "x-amz-checksum-crc32c" },
    signatures: [
      "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
      "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
      "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
      "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
    ],
    trailer:
      "x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n",
  },
];

for (const { payload, names, headers, signatures, trailer } of chunkedExamples) {
  const [seed = "", ...chunks] = signatures;
  const make = (change: (text: string) => string = (text) => text) => {
    const parts = ["a".repeat(65_536), "a".repeat(1024), ""];
    const body = parts
      .map(
        (part, n) =>
          `${part.length.toString(16)};chunk-signature=${chunks[n]}\r\n${part}${part === "" ? "" : "\r\n"}`,
      )
      .join("");
    const text = change(`${body}${trailer}\r\n`);
    const request = new Request("http://ignored/examplebucket/chunkObject.txt", {
      method: "PUT",
      headers: {
        host: "s3.amazonaws.com",
        "x-amz-date": "20130524T000000Z",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "x-amz-content-sha256": payload,
        "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": "66560",
        ...headers,
        authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${seed}`,
      },
      body: new Blob([text]).stream(),
    });
    const signature = Signature.read(
      { request, rawPath: "/examplebucket/chunkObject.txt", rawQuery: "" },
      at,
    );
    if (signature === undefined) throw new Error("the request has no signature");
    return { request, signature };
  };

  test(`the body of the official example of ${payload} is read, and no other one`, async () => {
    const { request, signature } = make();
    expect(signature.isSignedWith(secret)).toBe(true);
    expect(await contentOf(request, signature)).toBe("a".repeat(66_560));
    const changes: Array<(text: string) => string> = [
      (text) => text.replace("aaaa", "aaab"),
      (text) =>
        text.replace(/;chunk-signature=0055627c|;chunk-signature=1c1344b1/, ";chunk-signature=11111111"),
      (text) => text.replace("400;", "3ff;"),
      (text) => text.slice(0, 70_000 - 4000),
      (text) => text.replace(/0;chunk-signature=[0-9a-f]{64}\r\n/, ""),
      (text) => text.replace("sOO8/Q==", "AAAAAA==").replace("0;chunk-signature=b6", "0;chunk-signature=b7"),
    ];
    for (const change of changes) {
      const changed = make(change);
      changed.signature.isSignedWith(secret);
      await expect(contentOf(changed.request, changed.signature)).rejects.toThrow();
    }
  });
}

test("a thousand mutations of a valid request are all refused", async () => {
  await using node = await openNode(s3Options);
  const { keys, raw, bucket } = await s3Site(node);
  const path = `/${bucket}/a/file.txt`;
  const query = { "response-content-type": "text/plain", prefix: "x" };
  const good = signed(keys, { path, query, headers: { range: "bytes=0-1" } });
  expect(await codeOf(await raw({ path, query }, good))).toBe("404 NoSuchKey");
  const mutated = (text: string, n: number) => {
    const place = (n * 31) % text.length;
    const other = text[place] === "A" ? "B" : "A";
    return text.slice(0, place) + other + text.slice(place + 1);
  };
  const refused = new Map<string, number>();
  const accepted: string[] = [];
  const signedNames = ["range", "x-amz-content-sha256", "x-amz-date", "authorization"] as const;
  const one = async (n: number) => {
    const kind = n % 7;
    const headers = { ...good };
    let sent = { path, query: query as Record<string, string>, method: "GET" };
    const name = signedNames[kind];
    if (name !== undefined) headers[name] = mutated(good[name] ?? "", n);
    else if (kind === 4) sent = { ...sent, path: `/${bucket}/a/${mutated("file.txt", n)}${n}` };
    else if (kind === 5) sent = { ...sent, query: { ...query, prefix: `x${n}` } };
    else headers[`x-amz-meta-${n}`] = "1";
    const response = await raw(sent, headers);
    const code = await codeOf(response);
    refused.set(code, (refused.get(code) ?? 0) + 1);
    if (response.status === 404 || response.status < 400) accepted.push(JSON.stringify({ sent, headers }));
  };
  // The first wrong signatures are answered at once, the next ones are delayed: many at a time.
  for (let n = 0; n < 1000; n += 250)
    await Promise.all(Array.from({ length: 250 }, (_, more) => one(n + more)));
  expect(accepted).toEqual([]);
  expect([...refused.values()].reduce((sum, count) => sum + count, 0)).toBe(1000);
}, 60_000);

test("a signature is good for a quarter of an hour, a presigned address for its time", async () => {
  await using node = await openNode(s3Options);
  const { keys, s3, raw, put, bucket } = await s3Site(node);
  const path = `/${bucket}/a`;
  expect((await put(path, "content")).status).toBe(200);
  const minutes = (count: number) => Date.now() + count * 60_000;
  expect(await codeOf(await s3({ path, at: minutes(-14) }))).toBe("200");
  expect(await codeOf(await s3({ path, at: minutes(-16) }))).toBe("403 RequestTimeTooSkewed");
  expect(await codeOf(await s3({ path, at: minutes(16) }))).toBe("403 RequestTimeTooSkewed");
  const open = (address: string, headers: Record<string, string> = {}) => raw({ path: address }, headers);
  expect(await (await open(presigned(keys, { path }))).text()).toBe("content");
  expect(await codeOf(await open(presigned(keys, { path, at: minutes(-2), expires: 60 })))).toBe(
    "403 AccessDenied",
  );
  expect(await codeOf(await open(presigned(keys, { path, expires: 604_801 })))).toBe(
    "400 AuthorizationQueryParametersError",
  );
  const version2 = await open(
    `${path}?AWSAccessKeyId=${keys.access_key_id}&Expires=4102444800&Signature=abc`,
  );
  expect(await version2.text()).toContain("set the client to version 4");
  // Whoever has the address cannot make another request of it.
  const address = presigned(keys, { method: "PUT", path: `/${bucket}/b` });
  const copy = await fetch(`${node.url}${address}`, {
    method: "PUT",
    headers: { host: "s3.test", "x-amz-copy-source": `/${bucket}/a` },
  });
  expect(await codeOf(copy)).toBe("403 AccessDenied");
  const put2 = await fetch(`${node.url}${address}`, {
    method: "PUT",
    headers: { host: "s3.test" },
    body: "new",
  });
  expect(put2.status).toBe(200);
});

test("the secret ends with the token, and no request is told why it was refused", async () => {
  await using node = await openNode(s3Options);
  const { bucket } = await s3Site(node);
  const limit = [{ scopes: [{ static_bucket: bucket }], permissions: [{ static_bucket_file: "list" }] }];
  const token = await node.newToken(limit);
  const { keys, raw } = await (await import("../support/s3.ts")).s3Client(node, token);
  const list = (by = keys) => raw({ path: `/${bucket}` }, signed(by, { path: `/${bucket}` }));
  expect(await codeOf(await list())).toBe("200");
  const [key = ""] = token.split(":");
  const edit = (more: unknown) =>
    node.call("token_edit", { token: node.superToken, target_token: key, ...(more as object) });
  await edit({ limit: [] });
  expect(await codeOf(await list())).toBe("403 AccessDenied");
  await edit({ limit });
  await node.call("token_roll_token_secret", { token: node.superToken, target_token: key });
  const wrong = await (await list()).text();
  const unknown = await (await list({ ...keys, access_key_id: "AAAAAAAAAAAAAAAA" })).text();
  const withoutId = (text: string) => text.replace(/<RequestId>.*<\/RequestId>/, "");
  expect(withoutId(wrong)).toContain("SignatureDoesNotMatch");
  expect(withoutId(unknown)).toBe(withoutId(wrong));
  expect(signingOf(keys, at).scope).toContain("20130524");
});

test("an object that is in memory is sent as it is, and to those who may read it now", async () => {
  await using node = await openNode(s3Options);
  const { bucket, put } = await s3Site(node);
  const limitOf = (right: string) => [
    { scopes: [{ static_bucket: bucket }], permissions: [{ static_bucket_file: right }] },
  ];
  const token = await node.newToken(limitOf("read"));
  const { keys, s3, raw } = await s3Client(node, token);
  const path = `/${bucket}/a`;
  await put(path, "old", { "content-type": "text/x-note", "x-amz-sdk-checksum-algorithm": "CRC32C" });
  // What was changed a moment ago is not kept in memory yet.
  if (node.store === "disk") await Bun.sleep(120);
  const request = (more: object = {}) => s3({ path, ...more });
  for (let times = 0; times < 3; times += 1) expect(await (await request()).text()).toBe("old");
  const [got, head] = [await request(), await request({ method: "HEAD" })];
  const headersOf = ({ headers }: Response) => {
    const { date: _, "x-amz-request-id": __, connection: ___, ...same } = Object.fromEntries(headers);
    return same;
  };
  expect(headersOf(head)).toEqual(headersOf(got));
  expect(head.headers.get("content-length")).toBe("3");
  expect(got.headers.get("x-amz-request-id")).not.toBe(head.headers.get("x-amz-request-id"));
  const sums = await request({ headers: { "x-amz-checksum-mode": "ENABLED" } });
  expect(sums.headers.get("x-amz-checksum-crc32c")).toMatch(/^.{6}==$/);
  expect((await request()).headers.get("x-amz-checksum-crc32c")).toBe(null);
  const other = { ...keys, secret_access_key: `${keys.secret_access_key}x` };
  expect(await codeOf(await raw({ path }, signed(other, { path })))).toBe("403 SignatureDoesNotMatch");
  expect(await codeOf(await raw({ path }))).toBe("403 AccessDenied");
  await put(path, "new");
  expect(await (await request()).text()).toBe("new");
  const [target_token = ""] = token.split(":");
  const edit = (limit: unknown) => node.call("token_edit", { token: node.superToken, target_token, limit });
  await edit(limitOf("list"));
  expect(await codeOf(await request())).toBe("403 AccessDenied");
  await edit(limitOf("read"));
  expect(await codeOf(await request())).toBe("200");
  await node.call("static-bucket_update", { token: node.superToken, name: bucket, enable: false });
  expect(await codeOf(await request())).toBe("404 NoSuchBucket");
  await node.call("static-bucket_update", { token: node.superToken, name: bucket, enable: true });
  await node.call("token_delete", { token: node.superToken, target_token });
  expect(await codeOf(await request())).toBe("403 SignatureDoesNotMatch");
});

test("a password gives no keys of S3, which would outlive its change", async () => {
  await using node = await openNode(s3Options);
  const username = node.own("bob");
  const token = await node.newToken([], { username, password: "right-word" });
  const refused = await node.refused("token_s3_credentials", { token: `${username}|right-word` });
  expect(refused.data).toMatchObject({ field: "token" });
  expect(await node.call("token_s3_credentials", { token })).toMatchObject({
    access_key_id: token.split(":")[0],
  });
});

test("`tokens s3` prints the keys of the login as variables, and as JSON", async () => {
  await using scene = await loggedIn(s3Options);
  const { node, user } = scene;
  await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
  const said = await user.does(["tokens", "s3"]);
  const [, access_key_id = "", secret_access_key = ""] =
    /^AWS_ACCESS_KEY_ID=(\S+)\nAWS_SECRET_ACCESS_KEY=(\S+)\n$/.exec(said) ?? [];
  const keys = { access_key_id, secret_access_key };
  const path = `/${node.bucket}`;
  expect((await clientWith(node, keys).s3({ path })).status).toBe(200);
  const all = { ...keys, host: s3Host, listener: null };
  expect(JSON.parse(await user.does(["tokens", "s3", "--json"]))).toEqual(all);
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: `root|${node.rootPassword}` };
  const refused = await user.run(["tokens", "s3"], { env });
  expect([refused.code === 0, refused.stdout, refused.stderr]).toEqual([
    false,
    "",
    expect.stringContaining("password"),
  ]);
});

test("a node whose link key is not that of the others makes no keys that they would refuse", async () => {
  await using cluster = await testCluster(s3Options, () => s3Options);
  const [one, two] = cluster.nodes;
  const token = cluster.superToken;
  await one.call("token_s3_credentials", { token });
  const refused = await two.refused("token_s3_credentials", { token });
  expect(refused.data).toMatchObject({ reason: "other_link_key" });
});

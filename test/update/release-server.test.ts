import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ReleaseServer } from "../../src/update/release-server.ts";
import { Wire } from "../support/hostile.ts";
import { tempFolder } from "../support/node.ts";
import { Home, story } from "../support/process.ts";
import { randomBytes } from "../support/tools.ts";
import { until, within } from "../support/until.ts";

const name = "node-server-linux-x86_64-gnu";
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

/** Releases in a folder, served; beside the folder lies what must never be served. */
async function serveReleases(files: Record<string, string | Uint8Array>) {
  const temp = await tempFolder();
  const folder = join(temp.path, "releases");
  await mkdir(folder);
  const put = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };
  for (const [path, content] of Object.entries(files)) await put(path, content);
  await put("../secret", "outside");
  await put("../v6.6.6/secret", "outside");
  const releases = new ReleaseServer(folder);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => releases.answer(request),
    error: (error) => new Response(`500 ${error.message}\n`, { status: 500 }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    folder,
    url,
    put,
    get: (path: string, init: BunFetchRequestInit = {}) =>
      fetch(url + path, {
        decompress: false,
        ...init,
        headers: { "accept-encoding": "identity", ...init.headers },
      }),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await temp[Symbol.asyncDispose]();
    },
  };
}

test("a release is found by its tag in the folder of that tag, and below any path", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "one", [`v1.1.0/${name}`]: "two" });
  for (const [path, content] of [
    [`/${name}?tag=v1.0.0`, "one"],
    [`/${name}?tag=v1.1.0`, "two"],
    [`/some/where/${name}?key=x&tag=v1.1.0`, "two"],
  ] as const) {
    const answer = await releases.get(path);
    expect([answer.status, await answer.text()]).toEqual([200, content]);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("a folder with one release alone is served under the tag in its TAG, and under no other", async () => {
  await using releases = await serveReleases({ [name]: "alone", TAG: "v2.0.0\n", SHA256SUMS: "sums" });
  expect(await (await releases.get(`/${name}?tag=v2.0.0`)).text()).toBe("alone");
  expect(await (await releases.get("/SHA256SUMS?tag=v2.0.0")).text()).toBe("sums");
  expect(await (await releases.get("/latest")).text()).toBe("v2.0.0\n");
  for (const path of [`/${name}?tag=v2.0.1`, "/TAG?tag=v2.0.0"])
    expect((await releases.get(path)).status).toBe(404);
});

test("latest is the highest version by number, and follows what is put there", async () => {
  await using releases = await serveReleases({});
  const latest = async () => {
    const answer = await releases.get("/latest");
    return [answer.status, await answer.text()];
  };
  expect(await latest()).toEqual([404, "404 Not Found: there is no release yet.\n"]);
  for (const stray of ["notes/x", "v9.0/x", "v9.0.0-beta/x", "v8.0.0"]) await releases.put(stray, "x");
  await releases.put(`v1.9.0/${name}`, "x");
  expect(await latest()).toEqual([200, "v1.9.0\n"]);
  await releases.put(`v1.10.0/${name}`, "x");
  expect(await latest()).toEqual([200, "v1.10.0\n"]);
  await releases.put("TAG", "v1.10.1\n");
  expect(await latest()).toEqual([200, "v1.10.1\n"]);
});

test("what is not there is told in words, never with a path of the disk", async () => {
  await using releases = await serveReleases({
    [`v1.0.0/${name}`]: "one",
    "v1.0.0/folder/x": "x",
  });
  const tagless = "404 Not Found: there is no release with this tag (?tag=vX.Y.Z).\n";
  const fileless = "404 Not Found: there is no such file in the release.\n";
  const wrong = [
    [`/${name}`, tagless],
    [`/${name}?tag=`, tagless],
    [`/${name}?tag=v1.0.1`, tagless],
    [`/${name}?tag=1.0.0`, tagless],
    [`/${name}?tag=latest`, tagless],
    ["/node-server-plan9?tag=v1.0.0", fileless],
    ["/folder?tag=v1.0.0", fileless],
    ["/?tag=v1.0.0", fileless],
    [`/${"n".repeat(300)}?tag=v1.0.0`, fileless],
    [`/.${name}?tag=v1.0.0`, fileless],
  ] as const;
  for (const [path, words] of wrong) {
    const answer = await releases.get(path);
    expect([path, answer.status, await answer.text()]).toEqual([path, 404, words]);
  }
});

test("a file that has the name of a tag is no release", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "one", "v3.0.0": "a file" });
  const answer = await releases.get(`/${name}?tag=v3.0.0`);
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringMatching(/^404 Not Found: /)]);
});

test("length and digests are those of the file, for GET and for HEAD", async () => {
  const content = randomBytes(300_000);
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: content });
  for (const method of ["GET", "HEAD", "GET"]) {
    const answer = await releases.get(`/${name}?tag=v1.0.0`, { method });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-length")).toBe("300000");
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(answer.headers.get("x-checksum-sha256")).toBe(sha256(content).toString("hex"));
    expect(answer.headers.get("repr-digest")).toBe(`sha-256=:${sha256(content).toString("base64")}:`);
    expect(Buffer.from(await answer.bytes())).toEqual(Buffer.from(method === "HEAD" ? [] : content));
  }
  expect((await releases.get(`/${name}?tag=v1.0.1`, { method: "HEAD" })).status).toBe(404);
  expect((await releases.get("/latest", { method: "HEAD" })).status).toBe(200);
});

test("a file that was put there anew has its own digest", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "first" });
  const digest = async () => (await releases.get(`/${name}?tag=v1.0.0`)).headers.get("x-checksum-sha256");
  expect(await digest()).toBe(sha256(Buffer.from("first")).toString("hex"));
  await releases.put(`v1.0.0/${name}`, "other");
  await utimes(join(releases.folder, "v1.0.0", name), new Date(), new Date(Date.now() + 5000));
  expect(await digest()).toBe(sha256(Buffer.from("other")).toString("hex"));
});

test("who takes zstd gets the packed form where there is one, and the digest of both forms", async () => {
  const content = Buffer.from("release ".repeat(5000));
  const packed = zstdCompressSync(content);
  await using releases = await serveReleases({
    [`v1.0.0/${name}`]: content,
    [`v1.0.0/${name}.zst`]: packed,
    "v1.0.0/unpacked": content,
  });
  const ask = (file: string, accepted: string, method = "GET") =>
    releases.get(`/${file}?tag=v1.0.0`, { method, headers: { "accept-encoding": accepted } });
  for (const method of ["GET", "HEAD"]) {
    const answer = await ask(name, "gzip, zstd", method);
    expect(answer.headers.get("content-encoding")).toBe("zstd");
    expect(answer.headers.get("content-length")).toBe(String(packed.length));
    expect(answer.headers.get("vary")).toBe("accept-encoding");
    expect(answer.headers.get("x-checksum-sha256")).toBe(sha256(content).toString("hex"));
    expect(answer.headers.get("repr-digest")).toBe(`sha-256=:${sha256(packed).toString("base64")}:`);
    const sent = await answer.bytes();
    if (method === "GET") expect(zstdDecompressSync(sent)).toEqual(content);
  }
  for (const [file, accepted] of [
    [name, "gzip, br"],
    [name, "identity"],
    ["unpacked", "zstd"],
  ] as const) {
    const answer = await ask(file, accepted);
    expect([accepted, answer.headers.get("content-encoding")]).toEqual([accepted, null]);
    expect(Buffer.from(await answer.bytes())).toEqual(content);
  }
  const asked = await ask(`${name}.zst`, "zstd");
  expect([asked.headers.get("content-encoding"), Buffer.from(await asked.bytes())]).toEqual([null, packed]);
});

test("who refuses zstd gets the file itself", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "one", [`v1.0.0/${name}.zst`]: "packed" });
  for (const refusal of ["zstd;q=0, identity", "gzip, zstd; q=0.000"]) {
    const answer = await releases.get(`/${name}?tag=v1.0.0`, { headers: { "accept-encoding": refusal } });
    expect([refusal, await answer.text()]).toEqual([refusal, "one"]);
  }
});

test("nothing outside the folder is ever read, however the way to it is spelled", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "one" });
  const outside = join(releases.folder, "..");
  const encoded = (text: string) => text.replaceAll(".", "%2e").replaceAll("/", "%2f");
  const ways = [
    "../secret",
    "../../secret",
    "..\\secret",
    "../v6.6.6/secret",
    `${outside}/secret`,
    "..",
    ".",
    "..\0",
  ];
  const targets = ways.flatMap((way) =>
    [way, encoded(way), encoded(encoded(way).replaceAll("%", "%25")), `x/${way}`, `%2e%2e/${way}`].flatMap(
      (form) => [
        `/${form}?tag=v1.0.0`,
        `/secret?tag=${form}`,
        `/secret?tag=v1.0.0/${form}`,
        `/secret?tag=v1.0.0&tag=${form}`,
      ],
    ),
  );
  targets.push(
    "//secret?tag=v6.6.6",
    "/secret?tag=../v6.6.6",
    "/secret?tag=v6.6.6",
    `${outside}/secret?tag=v1.0.0`,
  );
  for (const target of targets) {
    using wire = await Wire.open(releases.url);
    wire.write(
      Buffer.from(
        `GET ${target.replaceAll("\0", "%00")} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`,
      ),
    );
    await until(`an answer to ${target}`, () => wire.closed);
    expect([target, /^HTTP\/1\.1 (\d+)/.exec(wire.heard)?.[1]]).toEqual([
      target,
      expect.stringMatching(/^40[04]$/),
    ]);
    expect(wire.heard).not.toContain("outside");
  }
});

test("other methods are refused, and told which ones there are", async () => {
  await using releases = await serveReleases({ [`v1.0.0/${name}`]: "one" });
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
    const answer = await releases.get(`/${name}?tag=v1.0.0`, { method });
    expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
  }
});

story(
  "the command tells its address and what it serves, and stops on SIGTERM though a client stays",
  async () => {
    await using home = await Home.open();
    await mkdir(home.file("releases/v1.0.0"), { recursive: true });
    await writeFile(home.file(`releases/v1.0.0/${name}`), "one");
    await symlink("releases", home.file("link"));
    const server = home.launch({}, ["release-server", "link", "--listen", "127.0.0.1:0"]);
    const url = await until(
      "it tells its address",
      () => /^releases v1\.0\.0 at (http:\S+)$/m.exec(server.stdout)?.[1],
    );
    expect(await (await fetch(`${url}/latest`)).text()).toBe("v1.0.0\n");
    expect(await (await fetch(`${url}/${name}?tag=v1.0.0`)).text()).toBe("one");
    const client = connect(Number(new URL(url).port), "127.0.0.1");
    await within("the client is connected", new Promise<void>((resolve) => client.once("connect", resolve)));
    client.on("error", () => {});
    const ended = await server.stop();
    client.destroy();
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(new RegExp(`GET /${name}\\?tag=v1\\.0\\.0 200\\n`));
  },
);

/** Runs the command, which must fail; what it said. */
async function refused(home: Home, folder: string, listen: string): Promise<string> {
  const { code, stderr } = await home.run(["release-server", folder, "--listen", listen]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^node-server: .*\n$/);
  expect(stderr).not.toContain("this is a bug");
  return stderr;
}

story("a folder or an address that cannot be is told in words", async () => {
  await using home = await Home.open();
  await mkdir(home.file("releases"));
  expect(await refused(home, "nowhere", "127.0.0.1:0")).toContain("nowhere cannot be read");
  expect(await refused(home, "releases", "here")).toContain("must be ip:port or host:port, not here");
});

story("a port that another program has is told in words", async () => {
  await using home = await Home.open();
  await mkdir(home.file("releases"));
  const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  try {
    expect(await refused(home, "releases", `127.0.0.1:${other.port}`)).toContain(`:${other.port}`);
  } finally {
    await other.stop(true);
  }
});

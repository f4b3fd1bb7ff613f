import { expect } from "bun:test";
import { parseCode } from "../../src/links/link-code.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { inSite, linkSite, type Made, notValid } from "./link-site.ts";

const sharedNode = sharedNodes();

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function withCode(address: string, change: (code: string) => string): string {
  const parts = address.split("/");
  return parts.with(3, change(parts[3] ?? "")).join("/");
}

/** The address with some bytes of its code changed. */
function patched(address: string, change: (bytes: Buffer) => void): string {
  return withCode(address, (code) => {
    const bytes = Buffer.from(code, "base64url");
    change(bytes);
    return bytes.toString("base64url");
  });
}

eachDatabase(
  "no altered, extended, moved or mixed link opens anything, and all are answered alike",
  async (database) => {
    await using node = await sharedNode({ database });
    const { make, ask } = await linkSite(node, { "a.txt": "a", "b.txt": "b", "in/c.txt": "c" });
    const other = node.own("other");
    await node.call("static-bucket_create", { token: node.superToken, name: other });
    await node.call("static-bucket-file_upload", [node.superToken, other, "a.txt", "of the other"]);
    const plain = (await make("a.txt")).address;
    const counted = (await make("a.txt", { max_downloads: 3 })).address;
    const locked = (await make("a.txt", { password: "open" })).address;
    const box = (await make("in", { upload: true })).address;
    const boxCounted = (await make("in", { upload: true, max_downloads: 1 })).address;
    const codeOf = (address: string) => address.split("/")[3] ?? "";
    const attacks: Record<string, string> = {
      "longer life": patched(plain, (bytes) => bytes.writeUInt32BE(bytes.readUInt32BE(7) + 86_400, 7)),
      "another token": patched(plain, (bytes) => bytes.writeUInt32BE(2, 3)),
      "an unknown token": patched(plain, (bytes) => bytes.writeUInt32BE(0x7fffffff, 3)),
      "a token id above all": patched(plain, (bytes) => bytes.writeUInt32BE(0xffffffff, 3)),
      "a download as an upload": patched(plain, (bytes) => bytes.writeUInt8(1, 1)),
      "an upload as a download": `${patched(box, (bytes) => bytes.writeUInt8(0, 1))}c.txt`,
      "a preview": patched(plain, (bytes) => bytes.writeUInt8(2, 1)),
      "another version": patched(plain, (bytes) => bytes.writeUInt8(2, 0)),
      "unknown flags": patched(plain, (bytes) => bytes.writeUInt8(3, 2)),
      "a counted link without its count": withCode(counted, (code) => {
        const bytes = Buffer.from(code, "base64url");
        bytes.writeUInt8(0, 2);
        return Buffer.concat([bytes.subarray(0, 11), bytes.subarray(23)]).toString("base64url");
      }),
      "the id of another link": withCode(locked, (code) => {
        const bytes = Buffer.from(code, "base64url");
        Buffer.from(codeOf(counted), "base64url").copy(bytes, 11, 11, 23);
        return bytes.toString("base64url");
      }),
      "no MAC": patched(plain, (bytes) => bytes.fill(0, 11)),
      "half a code": withCode(plain, (code) => code.slice(0, 18)),
      "a code and more": withCode(plain, (code) => `${code}AAAA`),
      "an empty code": withCode(plain, () => ""),
      "standard base64": withCode(plain, (code) => `${code.slice(0, -1)}=`),
      "another path": plain.replace("a.txt", "b.txt"),
      "another bucket": plain.replace(`/${node.bucket}/`, `/${other}/`),
      "an unknown bucket": plain.replace(`/${node.bucket}/`, "/nowhere/"),
      "a path with a slash": `${plain}/`,
      "a path below it": `${plain}/x`,
      "an encoded slash": box.replace("/in/", "/in%2Fc.txt"),
      "up and down": plain.replace("a.txt", "in%2F..%2Fa.txt"),
      "the folder above the drop box": box.replace("/in/", "/"),
      "a file in the drop box": `${box}c.txt`,
      "a broken encoding": `${plain}%`,
      "the code in the preview": plain.replace("/node/link/", "/node/preview/"),
    };
    for (const [attack, address] of Object.entries(attacks)) {
      const response = await ask(address);
      const text = await response.text();
      expect([attack, response.status]).toEqual([attack, 404]);
      if (address.startsWith("/node/link/")) expect([attack, text]).toEqual([attack, notValid]);
      expect([attack, (await ask(address, { method: "PUT", body: "x" })).status === 201]).toEqual([
        attack,
        false,
      ]);
    }
    // The folder itself is shown as a page, so its address with a file name is what may be attacked.
    for (const address of [
      box.replace("/in/", "/new.txt"),
      `${box}deeper/new.txt`,
      `${boxCounted}deeper/new.txt`,
    ])
      expect((await ask(address, { method: "PUT", body: "x" })).status).toBe(404);
    expect((await ask(plain)).status).toBe(200);
  },
);

test("every single character of a code counts", async () => {
  await using node = await sharedNode();
  const { make, ask } = await linkSite(node, { "a.txt": "a" });
  for (const more of [{}, { max_downloads: 1000 }]) {
    const { address } = await make("a.txt", more);
    const code = address.split("/")[3] ?? "";
    for (const [at, char] of [...code].entries()) {
      const other = alphabet[(alphabet.indexOf(char) + 1 + at) % 64] ?? "";
      if (other === char) continue;
      const altered = withCode(address, () => code.slice(0, at) + other + code.slice(at + 1));
      expect([at, (await ask(altered)).status]).toEqual([at, 404]);
    }
    expect((await ask(address)).status).toBe(200);
  }
});

test("a code has one text, and says nothing of the secrets it depends on", () => {
  const code = "AQAAAAAAAWoaK4CqJ3c1VvPj0xLq8nZbYg9R";
  expect(parseCode(code)?.kind).toBe("download");
  for (const other of [`${code}=`, ` ${code}`, code.replace("-", "+"), `${code}A`, code.toLowerCase(), ""])
    if (other !== code)
      expect([other, parseCode(other)?.mac.equals(parseCode(code)?.mac ?? Buffer.alloc(0)) ?? false]).toEqual(
        [other, false],
      );
});

eachDatabase("a link of a token with few rights gives no more than these", async (database) => {
  await using node = await sharedNode({ database });
  const { ask, put } = await linkSite(node, { "a.txt": "a" });
  const link = (token: string, more: Record<string, unknown>) =>
    node.call("static-bucket-file_link", { token, name: node.bucket, ...more }) as Promise<Made>;
  const writer = await node.newToken(inSite(node, "write"));
  const box = await link(writer, { path: "", upload: true });
  expect(await put(box.address, "a.txt", "replaced")).toBe(409);
  expect((await ask(`${box.address}a.txt`)).status).toBe(404);
  expect(await put(box.address, "new.txt", "new")).toBe(201);
  await node.call("token_edit", {
    token: node.superToken,
    target_token: writer.split(":")[0],
    limit: inSite(node, "read", "list", "delete"),
  });
  expect(await put(box.address, "later.txt", "later")).toBe(404);
});

test("the secret of the links differs from server to server", async () => {
  await using first = await testNode();
  await using second = await testNode();
  const [one, other] = [await linkSite(first, { "a.txt": "a" }), await linkSite(second, { "a.txt": "a" })];
  const { address } = await one.make("a.txt");
  expect((await other.ask(address)).status).toBe(404);
  await other.make("a.txt");
  expect((await other.ask(address)).status).toBe(404);
  expect((await one.ask(address)).status).toBe(200);
});

import { expect } from "bun:test";
import { isElement, parseXml, printXml, type XmlElement } from "../../src/base/xml.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const update = (inside: string, declarations = "") =>
  `<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x" ${declarations}><D:set><D:prop>${inside}</D:prop></D:set></D:propertyupdate>`;

function props(element: XmlElement): XmlElement[] {
  if (element.namespace === "DAV:" && element.name === "prop") return element.children.filter(isElement);
  return element.children.filter(isElement).flatMap(props);
}

async function siteWithFile(node: TestNode) {
  const { dav } = await webdavSite(node);
  await dav("PUT", "/file", { "x-oc-mtime": "1600000000" }, "x");
  const patch = (inside: string, declarations?: string) =>
    dav("PROPPATCH", "/file", {}, update(inside, declarations));
  const shown = async () => {
    const answer = await dav("PROPFIND", "/file", { depth: "0" });
    return props(parseXml(await answer.bytes())).map(printXml);
  };
  return { dav, patch, shown };
}

eachStore("no property makes an answer that is not well-formed", async (store) => {
  await using node = await sharedNode(store);
  const { patch, shown } = await siteWithFile(node);
  for (const value of [
    "<x:a b='1&#10;2'>]]&gt;&#13;</x:a>",
    "<xml:a>b</xml:a>",
    `<p:a xmlns:p="http://www.w3.org/2000/xmlns/"/>`,
  ]) {
    const { status } = await patch(value);
    expect([207, 400]).toContain(status);
    expect((await shown()).length).toBeGreaterThan(5);
  }
});

eachStore("what one file may carry has a bound, and what goes over it changes nothing", async (store) => {
  await using node = await sharedNode(store);
  const { dav, patch, shown } = await siteWithFile(node);
  expect((await patch(`<x:a>${"b".repeat(1024 * 1024)}</x:a>`)).status).toBe(413);
  const large = (n: number) => `<x:a${n}>${"ü".repeat(200_000)}</x:a${n}>`;
  let count = 0;
  while (count < 10 && (await patch(large(count))).status === 207) count += 1;
  // One MiB, of characters that take two bytes each.
  expect([2, 5]).toContain(count);
  const before = await shown();
  const time =
    '<w:Win32LastModifiedTime xmlns:w="urn:schemas-microsoft-com:">Tue, 14 Nov 2023 22:13:20 GMT</w:Win32LastModifiedTime>';
  const refused = await patch(`<x:small/>${large(count)}${time}`);
  expect([409, 413, 507]).toContain(refused.status);
  expect(await shown()).toEqual(before);
  const { headers } = await dav("HEAD", "/file");
  expect(headers.get("last-modified")).toBe(new Date(1_600_000_000_000).toUTCString());
});

eachStore("names that are long in all are not repeated for every file of a folder", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await dav("PUT", "/file", {}, "x");
  const ask = (count: number, space: string) => {
    const names = Array.from({ length: count }, (_, n) => `<p:a${n}/>`).join("");
    const body = `<D:propfind xmlns:D="DAV:" xmlns:p="${space}"><D:prop>${names}</D:prop></D:propfind>`;
    return dav("PROPFIND", "/", { depth: "1" }, body);
  };
  const refused = await ask(9900, "n".repeat(1000));
  expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining("65536 bytes")]);
  const answered = await ask(100, "urn:usual");
  expect(props(parseXml(await answered.bytes()))).toHaveLength(200);
});

eachStore("a small request is not answered with a monster", async (store) => {
  await using node = await sharedNode(store);
  const { dav, patch } = await siteWithFile(node);
  const names = Array.from({ length: 1000 }, (_, n) => `<p:a${n}/>`).join("");
  const space = `xmlns:p="${"n".repeat(10_000)}"`;
  const body = `<D:propfind xmlns:D="DAV:" ${space}><D:prop>${names}</D:prop></D:propfind>`;
  const listing = await dav("PROPFIND", "/file", { depth: "0" }, body);
  expect((await listing.bytes()).length).toBeLessThan(50 * body.length);
  const patched = await patch(names, space);
  expect((await patched.bytes()).length).toBeLessThan(50 * body.length);
});

eachStore(
  "a path too long to be kept is neither locked nor described, and says so; its file works all the same",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await siteWithFile(node);
    let path = "";
    // Random, so that no compression in the database makes it short.
    for (let depth = 0; depth < 14; depth += 1) {
      path += `/${Buffer.from(crypto.getRandomValues(new Uint8Array(120))).toString("hex")}`;
      expect((await dav("MKCOL", path)).status).toBe(201);
    }
    const described = await dav("PROPPATCH", path, {}, update("<x:a>1</x:a>"));
    expect([described.status, await described.text()]).toEqual([409, expect.stringContaining("2000 bytes")]);
    const info =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
    expect((await dav("LOCK", `${path}/file`, {}, info)).status).toBe(409);
    expect((await dav("PUT", `${path}/file`, {}, "x")).status).toBe(201);
    expect((await dav("LOCK", `${path}/file`, {}, info)).status).toBe(409);
    expect((await dav("DELETE", `${path}/file`)).status).toBe(204);
  },
);

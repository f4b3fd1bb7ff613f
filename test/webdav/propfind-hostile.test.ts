import { expect, test } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { testNode } from "../support/node.ts";
import { memoryMiB } from "../support/proc.ts";
import { hello, sendTo, sharedServer } from "../support/process.ts";
import { within } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const kB = 1024;
/** Long enough for a busy machine, and a small part of what work that grows with the square of its input takes. */
const patienceMs = 8000;

const propfind = (inside: string, more = "") => `<D:propfind xmlns:D="DAV:"${more}>${inside}</D:propfind>`;
const prop = (inside: string, more = "") => propfind(`<D:prop>${inside}</D:prop>`, more);
const many = (count: number, each: (number: number) => string) =>
  Array.from({ length: count }, (_, at) => each(at)).join("");

test("XML that breaks the rules is refused with 400 and says why, on every verb that reads XML", async () => {
  await using node = await testNode();
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "words");
  const bodies: Record<string, string | Uint8Array<ArrayBuffer>> = {
    "an undeclared prefix": "<D:propfind><D:allprop/></D:propfind>",
    "an undeclared prefix inside": prop("<x:a/>"),
    "an undeclared prefix of an attribute": prop('<D:getetag x:a="1"/>'),
    "a prefix that is taken back": prop('<a xmlns:D=""/>'),
    "an empty prefix": prop("<:a/>"),
    "two colons": prop("<D:a:b/>"),
    "an element that does not end": '<D:propfind xmlns:D="DAV:"><D:allprop/>',
    "tags that cross": prop("<D:a><D:b></D:a></D:b>"),
    "two roots": `${propfind("<D:allprop/>")}<x/>`,
    "text after the root": `${propfind("<D:allprop/>")}x`,
    "no element": "words",
    "nothing but space": "  \n ",
    "the same attribute twice": prop('<D:getetag a="1" a="2"/>'),
    "an attribute without quotes": prop("<D:getetag a=1/>"),
    "< in a value": prop('<D:getetag a="<"/>'),
    "an unknown entity": prop("<D:a>&nbsp;</D:a>"),
    "a bare &": prop("<D:a>a & b</D:a>"),
    "a character XML cannot hold": prop("<D:a>\x01</D:a>"),
    "one written as a reference": prop("<D:a>&#1;</D:a>"),
    "half a character": prop("<D:a>&#xD800;</D:a>"),
    "a number beyond Unicode": prop("<D:a>&#x110000;</D:a>"),
    "bytes that are no UTF-8": Uint8Array.from([...Buffer.from(prop("<D:a>")), 0xff, 0xfe]),
    "a DOCTYPE": `<!DOCTYPE x>${propfind("<D:allprop/>")}`,
    "an external entity": `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>${prop("<D:a>&e;</D:a>")}`,
    "an entity bomb": `<!DOCTYPE x [<!ENTITY a "ha">${many(9, (at) => `<!ENTITY a${at} "&a;&a;&a;&a;">`)}]>${prop("<D:a>&a8;</D:a>")}`,
    "another root": '<D:propfin xmlns:D="DAV:"><D:allprop/></D:propfin>',
    "the right root of no namespace": "<propfind><allprop/></propfind>",
    "no question": propfind(""),
    "two questions": propfind("<D:allprop/><D:propname/>"),
  };
  for (const [what, body] of Object.entries(bodies)) {
    for (const verb of ["PROPFIND", "PROPPATCH", "LOCK"]) {
      const response = await dav(verb, "/a.txt", { depth: "0" }, body);
      const text = await response.text();
      expect([what, verb, response.status]).toEqual([what, verb, 400]);
      expect([what, text.length > 10 && text.length < 500]).toEqual([what, true]);
    }
  }
  expect(await (await dav("GET", "/a.txt")).text()).toBe("words");
  expect((await dav("PROPFIND", "/a.txt", { depth: "0" }, prop("<D:lockdiscovery/>"))).status).toBe(207);
});

test("a body over the limit is refused with 413, whether it tells its length, is chunked, or never ends", async () => {
  await using node = await testNode();
  const { dav, authorization } = await webdavSite(node);
  const huge = prop("<D:a/>".repeat(700 * kB));
  const chunked = new ReadableStream({
    pull(controller) {
      controller.enqueue(Buffer.from("<D:a/>".repeat(10 * kB)));
    },
  });
  for (const verb of ["PROPFIND", "PROPPATCH", "LOCK"]) {
    expect((await dav(verb, "/", { depth: "0" }, huge)).status).toBe(413);
    using wire = await Wire.open(node.url);
    const head = [
      `${verb} /node/static-webdav/site/ HTTP/1.1`,
      "Host: here",
      "Depth: 0",
      `Authorization: ${authorization}`,
    ];
    wire.write(`${head.join("\r\n")}\r\nContent-Length: 1000000000000\r\n\r\n<D:propfind `);
    await wire.hears(/^HTTP\/1\.1 413 /);
  }
  // One that has no end is answered, or cut off, while it is being sent.
  const endless = await within(
    "an endless body is refused",
    dav("PROPFIND", "/", { depth: "0" }, chunked).catch(() => undefined),
  );
  expect([413, undefined]).toContain(endless?.status);
});

/** Legal or not, each of about the size that is read, and each a lot of work for a careless reader. */
const heavy: Record<
  string,
  { readonly verb?: string; readonly body: string; readonly status: readonly number[] }
> = {
  "deep nesting": { body: prop("<D:a>".repeat(100_000)), status: [400] },
  "deep nesting that is closed": { body: prop("<a>".repeat(60_000) + "</a>".repeat(60_000)), status: [400] },
  "a name without end": { body: `<${"a".repeat(900 * kB)}`, status: [400] },
  "many comments": { body: prop("<!---->".repeat(120_000)), status: [207] },
  "unended comments": { body: "<!--".repeat(200_000), status: [400] },
  "many half references": { body: prop(`<D:a>${"&a".repeat(400_000)}</D:a>`), status: [400] },
  "many attributes": { body: prop(`<D:a${many(60_000, (at) => ` a${at}="1"`)}/>`), status: [400] },
  "many properties": { body: prop(many(60_000, (at) => `<D:a${at}/>`)), status: [400] },
  "many namespaces above many elements that declare one": {
    body: prop(
      many(25_000, () => '<D:a xmlns:x="u"/>'),
      many(25_000, (at) => ` xmlns:p${at}="u"`),
    ),
    status: [207, 400],
  },
  "a namespace with a long name, for many properties asked for": {
    body: prop(
      many(5000, (at) => `<x:a${at}/>`),
      ` xmlns:x="${"u".repeat(500 * kB)}"`,
    ),
    status: [400, 409, 413],
  },
  "a namespace with a long name, all over a property": {
    verb: "PROPPATCH",
    body: `<D:propertyupdate xmlns:D="DAV:" xmlns:x="${"u".repeat(500 * kB)}"><D:set><D:prop><x:p>${"<x:a/>".repeat(5000)}</x:p></D:prop></D:set></D:propertyupdate>`,
    status: [400, 409, 413],
  },
  "a namespace with a long name, all over a lock's owner": {
    verb: "LOCK",
    body: `<D:lockinfo xmlns:D="DAV:" xmlns:x="${"u".repeat(500 * kB)}"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>${"<x:a/>".repeat(5000)}</D:owner></D:lockinfo>`,
    status: [400, 409, 413],
  },
};

const started = sharedServer();
/** The most memory that the server had taken before the first story. */
let firstMiB: number | undefined;

for (const [what, { verb = "PROPFIND", body, status }] of Object.entries(heavy)) {
  test(`XML made to be hard work holds up nobody and takes no memory to speak of: ${what}`, async () => {
    const server = await started();
    const name = `site-${crypto.randomUUID()}`;
    await server.call("static-bucket_create", { token: server.superToken, name });
    firstMiB ??= await memoryMiB(server, "VmHWM");
    const authorization = `Basic ${btoa(server.superToken)}`;
    const attack = fetch(`${server.url}/node/static-webdav/${name}/`, {
      method: verb,
      headers: { authorization, depth: "0" },
      body,
    });
    const answer = within(
      `${what} is answered`,
      attack.then(async (response) => {
        let length = 0;
        for await (const part of response.body ?? []) length += part.byteLength;
        return { status: response.status, length };
      }),
      patienceMs,
    );
    await Bun.sleep(50);
    const polite = within(
      "another client is answered meanwhile",
      sendTo(server.url, "node-server_hello"),
      patienceMs,
    );
    const [heard, { result }] = await Promise.all([answer, polite]);
    expect(result).toBe(hello);
    expect(status).toContain(heard.status);
    expect(heard.length).toBeLessThan(20 * kB * kB);
    expect((await memoryMiB(server, "VmHWM")) - firstMiB).toBeLessThan(400);
    expect(server.alive).toBe(true);
  });
}

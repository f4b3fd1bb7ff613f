import { expect } from "bun:test";
import { isElement, parseXml, printXml, textOf, type XmlElement } from "../../src/base/xml.ts";
import { openNode } from "../../src/node.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const update = (...instructions: string[]) =>
  `<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x">${instructions.join("")}</D:propertyupdate>`;
const set = (inside: string) => `<D:set><D:prop>${inside}</D:prop></D:set>`;
const remove = (inside: string) => `<D:remove><D:prop>${inside}</D:prop></D:remove>`;

function all(element: XmlElement, name: string): XmlElement[] {
  const own = element.namespace === "DAV:" && element.name === name ? [element] : [];
  return [...own, ...element.children.filter(isElement).flatMap((child) => all(child, name))];
}

/** `{namespace}name` → status, of a multistatus about one resource. */
async function outcome(response: Response): Promise<Record<string, number>> {
  expect(response.status).toBe(207);
  const stats = all(parseXml(await response.bytes()), "propstat");
  return Object.fromEntries(
    stats.flatMap((stat) => {
      const status = Number(all(stat, "status").map(textOf).join().split(" ")[1]);
      const names = all(stat, "prop").flatMap(({ children }) => children.filter(isElement));
      return names.map(({ namespace, name }) => [`{${namespace}}${name}`, status]);
    }),
  );
}

async function propertySite(node: TestNode) {
  const { dav, authorization } = await webdavSite(node);
  /** What allprop shows that is not the server's own, as XML. */
  const dead = async (path: string, at = dav): Promise<string[]> => {
    const answer = await at("PROPFIND", path, { depth: "0" });
    if (answer.status !== 207) return [`${answer.status}`];
    const [prop] = all(parseXml(await answer.bytes()), "prop");
    return (prop?.children.filter(isElement) ?? [])
      .filter(({ namespace }) => namespace !== "DAV:")
      .map(printXml)
      .sort();
  };
  const patch = (path: string, ...instructions: string[]) =>
    dav("PROPPATCH", path, {}, update(...instructions));
  const named = (word: string) => [`<n:a xmlns:n="urn:x">${word}</n:a>`];
  return { dav, authorization, dead, patch, named };
}

eachStore("properties are set and removed in the order of the instructions", async (store) => {
  await using node = await sharedNode(store);
  const { dav, dead, patch, named } = await propertySite(node);
  await dav("PUT", "/file", {}, "x");
  expect(await outcome(await patch("/file", set("<x:a>1</x:a><x:b>2</x:b>")))).toEqual({
    "{urn:x}a": 200,
    "{urn:x}b": 200,
  });
  expect(await dead("/file")).toEqual([...named("1"), '<n:b xmlns:n="urn:x">2</n:b>']);
  await patch("/file", set("<x:a>3</x:a>"), set("<x:a>4</x:a>"), remove("<x:b/>"));
  expect(await dead("/file")).toEqual(named("4"));
  await patch("/file", set("<x:c>5</x:c>"), remove("<x:c/>"), remove("<x:a/>"), set("<x:a>6</x:a>"));
  expect(await dead("/file")).toEqual(named("6"));
  expect(await outcome(await patch("/file", remove("<x:never/>")))).toEqual({ "{urn:x}never": 200 });
  const asked = await dav(
    "PROPFIND",
    "/file",
    { depth: "0" },
    '<D:propfind xmlns:D="DAV:" xmlns:x="urn:x"><D:prop><x:a/><x:b/><D:getetag/></D:prop></D:propfind>',
  );
  expect(await outcome(asked)).toEqual({ "{urn:x}a": 200, "{urn:x}b": 404, "{DAV:}getetag": 200 });
  expect((await patch("/nowhere", set("<x:a/>"))).status).toBe(404);
  for (const body of ["", "<a/>", update(), update("<D:set/>"), update(set("<y:a/>")), "no XML"])
    expect({ body, status: (await dav("PROPPATCH", "/file", {}, body)).status }).toEqual({
      body,
      status: 400,
    });
  expect(await dead("/file")).toEqual(named("6"));
});

eachStore(
  "the property lastmodified sets the time of a file and of a folder, and is read back",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, patch, dead } = await propertySite(node);
    await dav("PUT", "/file", {}, "x");
    await dav("MKCOL", "/folder");
    const touched = async (path: string, time: string) => {
      const answer = await outcome(await patch(path, set(`<D:lastmodified>${time}</D:lastmodified>`)));
      return answer["{DAV:}lastmodified"];
    };
    const asked =
      '<D:propfind xmlns:D="DAV:"><D:prop><D:lastmodified/><D:getlastmodified/></D:prop></D:propfind>';
    const seen = async (path: string) => {
      const text = await (await dav("PROPFIND", path, { depth: "0" }, asked)).text();
      return /<D:lastmodified>(\d+)<.*<D:getlastmodified>([^<]+)</s.exec(text)?.slice(1);
    };
    for (const path of ["/file", "/folder/"]) {
      expect(await touched(path, "1546300800")).toBe(200);
      expect(await seen(path)).toEqual(["1546300800", "Tue, 01 Jan 2019 00:00:00 GMT"]);
      expect(await touched(path, " Wed, 01 Jan 2020 00:00:00 GMT ")).toBe(200);
      expect(await seen(path)).toEqual(["1577836800", "Wed, 01 Jan 2020 00:00:00 GMT"]);
      expect(await touched(path, "soon")).toBe(409);
      expect(await touched(path, "9".repeat(20))).toBe(409);
      // Last-Modified has years of four digits.
      expect(await touched(path, "-99999999999")).toBe(409);
      expect(await touched(path, "Sat, 01 Jan 99999 00:00:00 GMT")).toBe(409);
      expect(await seen(path)).toEqual(["1577836800", "Wed, 01 Jan 2020 00:00:00 GMT"]);
      expect(await dead(path)).toEqual([]);
    }
    expect((await dav("HEAD", "/file")).headers.get("last-modified")).toBe("Wed, 01 Jan 2020 00:00:00 GMT");
  },
);

eachStore("one instruction that cannot be followed stops all of them", async (store) => {
  await using node = await sharedNode(store);
  const { dav, dead, patch, named } = await propertySite(node);
  await dav("PUT", "/file", { "x-oc-mtime": "1600000000" }, "x");
  await patch("/file", set("<x:a>kept</x:a>"));
  const time =
    '<w:Win32LastModifiedTime xmlns:w="urn:schemas-microsoft-com:">Tue, 14 Nov 2023 22:13:20 GMT</w:Win32LastModifiedTime>';
  for (const name of [
    "getetag",
    "getcontentlength",
    "resourcetype",
    "lockdiscovery",
    "supportedlock",
    "creationdate",
  ]) {
    for (const bad of [set(`<D:${name}>1</D:${name}>`), remove(`<D:${name}/>`)]) {
      const answer = await outcome(
        await patch("/file", set(`<x:a>lost</x:a>${time}`), bad, remove("<x:b/>")),
      );
      expect(answer).toEqual({
        "{urn:x}a": 424,
        "{urn:schemas-microsoft-com:}Win32LastModifiedTime": 424,
        [`{DAV:}${name}`]: 403,
        "{urn:x}b": 424,
      });
    }
  }
  expect(await dead("/file")).toEqual(named("kept"));
  const { headers } = await dav("HEAD", "/file");
  expect(headers.get("last-modified")).toBe(new Date(1600000000_000).toUTCString());
});

eachStore(
  "a property is kept with its nested XML, namespaces, language and every character",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, dead, patch } = await propertySite(node);
    await dav("PUT", "/file", {}, "x");
    const values = [
      "<plain>no namespace</plain>",
      "<x:nested> a <y:b xmlns:y='urn:y' c='1' y:d='&quot;&lt;'>&amp;<e xmlns=''/></y:b> <![CDATA[<z>]]> </x:nested>",
      "<x:日本 xml:lang='ja'>日本 😀 é e\u0301 &#13;</x:日本>",
      "<x:empty/>",
      "<x:constructor>c</x:constructor>",
      "<__proto__ xmlns='urn:p'>p</__proto__>",
      "<x:a xmlns:x='urn:x?a=1&amp;b=&quot;2&quot;'>ns</x:a>",
      "<x:space>  \n\t </x:space>",
    ];
    const body = `<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x">${set(values.join(""))}</D:propertyupdate>`;
    const done = await outcome(await dav("PROPPATCH", "/file", {}, body));
    expect(Object.values(done)).toEqual(values.map(() => 200));
    const sent = all(parseXml(Buffer.from(body)), "prop").flatMap(({ children }) =>
      children.filter(isElement),
    );
    expect(await dead("/file")).toEqual(sent.map(printXml).sort());
    await patch(
      "/file",
      `<D:set xml:lang="de"><D:prop><x:l>w</x:l><x:m xml:lang="fr">v</x:m></D:prop></D:set>`,
    );
    const kept = await dead("/file");
    expect(kept).toContain('<n:l xmlns:n="urn:x" xml:lang="de">w</n:l>');
    expect(kept).toContain('<n:m xmlns:n="urn:x" xml:lang="fr">v</n:m>');
  },
);

eachStore("a display name can be given and taken back", async (store) => {
  await using node = await sharedNode(store);
  const { dav, patch } = await propertySite(node);
  await dav("PUT", "/file", {}, "x");
  const shown = async () => {
    const answer = await dav("PROPFIND", "/file", { depth: "0" });
    return all(parseXml(await answer.bytes()), "displayname").map(textOf);
  };
  expect(await shown()).toEqual(["file"]);
  expect(await outcome(await patch("/file", set("<D:displayname>Ein &lt;Name&gt;</D:displayname>")))).toEqual(
    {
      "{DAV:}displayname": 200,
    },
  );
  expect(await shown()).toEqual(["Ein <Name>"]);
  await patch("/file", remove("<D:displayname/>"));
  expect(await shown()).toEqual(["file"]);
});

eachStore("properties go where their file or folder goes, by WebDAV and by RPC", async (store) => {
  await using node = await sharedNode(store);
  const url = hrefsIn(node);
  const { dav, dead, patch, named } = await propertySite(node);
  const token = node.superToken;
  for (const folder of ["/d", "/d/e"]) await dav("MKCOL", folder);
  for (const path of ["/d/e/100%25_ü", "/d/file", "/dd"]) await dav("PUT", path, {}, "x");
  for (const path of ["/d", "/d/e", "/d/e/100%25_ü", "/d/file", "/dd"])
    await patch(path, set(`<x:a>${path}</x:a>`));
  expect((await dav("MOVE", "/d", { destination: url("/m%20v") })).status).toBe(201);
  expect(await dead("/m%20v/")).toEqual(named("/d"));
  expect(await dead("/m%20v/e/")).toEqual(named("/d/e"));
  expect(await dead("/m%20v/e/100%25_ü")).toEqual(named("/d/e/100%25_ü"));
  expect(await dead("/dd")).toEqual(named("/dd"));
  await node.call("static-bucket-file_rename", [token, node.bucket, "m v/file", "n/ew/file"]);
  expect(await dead("/n/ew/file")).toEqual(named("/d/file"));
  await dav("PUT", "/m%20v/file", {}, "anew");
  expect(await dead("/m%20v/file")).toEqual([]);
  expect((await dav("MOVE", "/n/ew/file", { destination: url("/dd") })).status).toBe(204);
  expect(await dead("/dd")).toEqual(named("/d/file"));
  await patch("/m%20v/file", set("<x:a>over</x:a>"));
  await node.call("static-bucket-file_rename", [token, node.bucket, "m v/file", "dd"]);
  expect(await dead("/dd")).toEqual(named("over"));
  await node.call("static-bucket-file_upload", { token, name: node.bucket, path: "dd", body: "new content" });
  expect(await dead("/dd")).toEqual(named("over"));
});

eachStore(
  "a copy has the properties of its original, and what it replaced takes its own away",
  async (store) => {
    await using node = await sharedNode(store);
    const url = hrefsIn(node);
    const { dav, dead, patch, named } = await propertySite(node);
    for (const folder of ["/d", "/old"]) await dav("MKCOL", folder);
    for (const path of ["/d/file", "/old/file", "/old/gone"]) await dav("PUT", path, {}, "x");
    for (const path of ["/d", "/d/file", "/old", "/old/file", "/old/gone"])
      await patch(path, set(`<x:a>${path}</x:a>`));
    expect((await dav("COPY", "/d", { destination: url("/flat"), depth: "0" })).status).toBe(201);
    expect(await dead("/flat/")).toEqual(named("/d"));
    expect((await dav("COPY", "/d", { destination: url("/old") })).status).toBe(204);
    expect([await dead("/old/"), await dead("/old/file")]).toEqual([named("/d"), named("/d/file")]);
    await dav("PUT", "/old/gone", {}, "anew");
    expect(await dead("/old/gone")).toEqual([]);
    await patch("/old/file", set("<x:a>mine</x:a>"));
    expect(await dead("/d/file")).toEqual(named("/d/file"));
  },
);

eachStore("properties end with their file, their folder and their bucket", async (store) => {
  await using node = await sharedNode(store);
  const { dav, dead, patch } = await propertySite(node);
  const token = node.superToken;
  await dav("MKCOL", "/d");
  const paths = ["/one", "/two", "/d/three"];
  for (const path of paths) {
    await dav("PUT", path, {}, "x");
    await patch(path, set("<x:a>1</x:a>"));
  }
  await patch("/d", set("<x:a>1</x:a>"));
  await dav("DELETE", "/one");
  await node.call("static-bucket-file_delete", [token, node.bucket, "two"]);
  await dav("DELETE", "/d");
  await dav("MKCOL", "/d");
  for (const path of paths) await dav("PUT", path, {}, "anew");
  for (const path of [...paths, "/d"]) expect({ path, dead: await dead(path) }).toEqual({ path, dead: [] });
  await patch("/one", set("<x:a>1</x:a>"));
  await node.call("static-bucket_delete", [token, node.bucket]);
  await node.call("static-bucket_create", [token, node.bucket]);
  expect(await dead("/one")).toEqual([]);
});

eachStore("properties outlive the server that kept them", async (store) => {
  await using node = await testNode(store);
  const url = hrefsIn(node);
  const { dav, authorization, dead, patch, named } = await propertySite(node);
  await dav("PUT", "/file", {}, "x");
  await patch("/file", set("<x:a>1</x:a>"));
  await node.node.close();
  const { configPath, folder: workingDirectory } = node;
  await using again = await openNode({
    configPath,
    workingDirectory,
    env: { RUST_LOG: "off" },
    show: () => {},
  });
  const there = (method: string, path: string, headers: Record<string, string> = {}) =>
    fetch(`${again.url}${url(path)}`, { method, headers: { authorization, ...headers } });
  expect(await dead("/file", there)).toEqual(named("1"));
});

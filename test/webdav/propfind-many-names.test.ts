import { expect } from "bun:test";
import { isElement, parseXml, textOf, type XmlElement } from "../../src/base/xml.ts";
import { eachStore, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

const names = Array.from({ length: 2000 }, (_, at) => `a${at}`);

function all(element: XmlElement, name: string): XmlElement[] {
  const own = element.namespace === "DAV:" && element.name === name ? [element] : [];
  return [...own, ...element.children.filter(isElement).flatMap((child) => all(child, name))];
}

/** `href` → status → names of properties in the order of the answer. */
function statusesOf(answer: Uint8Array): Record<string, Record<string, string[]>> {
  const responses = all(parseXml(answer), "response").map((response) => {
    const stats = all(response, "propstat").map((stat) => {
      const properties = all(stat, "prop").flatMap(({ children }) => children.filter(isElement));
      const status = all(stat, "status").map(textOf).join().split(" ")[1];
      return [status, properties.map(({ name }) => name)];
    });
    return [all(response, "href").map(textOf).join(), Object.fromEntries(stats)];
  });
  return Object.fromEntries(responses);
}

eachStore(
  "PROPFIND of thousands of names tells for each resource which of them it has, and that the others are missing",
  async (store) => {
    await using node = await testNode(store);
    const { dav } = await webdavSite(node);
    const files = ["bare.txt", "some.txt", "last.txt"];
    for (const file of files) await dav("PUT", `/${file}`, {}, "words");
    const set = "<x:a7>seven</x:a7><x:a1999/><x:unasked/><D:displayname>own</D:displayname>";
    const update = `<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop>${set}</D:prop></D:set></D:propertyupdate>`;
    expect((await dav("PROPPATCH", "/some.txt", {}, update)).status).toBe(207);
    const asked = names.map((name) => `<x:${name}/>`).join("");
    const ask = (inside: string) =>
      `<D:propfind xmlns:D="DAV:" xmlns:x="urn:x">${inside.replace("NAMES", `${asked}<D:displayname/><D:quota-used-bytes/><D:getetag/>`)}</D:propfind>`;
    for (const depth of ["1", "infinity"]) {
      const some = await dav("PROPFIND", "/", { depth }, ask("<D:prop>NAMES</D:prop>"));
      const told = statusesOf(await some.bytes());
      const own = ["a7", "a1999"];
      const live = ["displayname", "quota-used-bytes", "getetag"];
      const root = "/node/static-webdav/site/";
      expect(told).toEqual({
        [root]: { 200: live.slice(0, -1), 404: ["getetag", ...names] },
        [`${root}bare.txt`]: { 200: live, 404: names },
        [`${root}last.txt`]: { 200: live, 404: names },
        [`${root}some.txt`]: { 200: [...live, ...own], 404: names.filter((name) => !own.includes(name)) },
      });
    }
    const everything = await dav(
      "PROPFIND",
      "/some.txt",
      { depth: "0" },
      ask("<D:allprop/><D:include>NAMES</D:include>"),
    );
    const [found] = Object.values(statusesOf(await everything.bytes()));
    expect(found?.["200"]).toEqual(expect.arrayContaining(["a7", "a1999", "unasked", "displayname"]));
    expect(found?.["404"]).toHaveLength(names.length - 2);
  },
);

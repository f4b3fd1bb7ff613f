import { expect, test } from "bun:test";
import { parseXml, printXml, XmlError } from "../../src/base/xml.ts";

const parse = (text: string) => parseXml(Buffer.from(text));

const filled = (bytes: number, piece: (n: number) => string) => {
  const parts: string[] = [];
  for (let size = 0, n = 0; size < bytes; n += 1) {
    const part = piece(n);
    parts.push(part);
    size += part.length;
  }
  return parts.join("");
};

/** Each as long as asked for, and as nasty as it gets. */
const hostile: Record<string, (bytes: number) => string> = {
  "many attributes": (bytes) => `<a${filled(bytes, (n) => ` b${n}=""`)}/>`,
  "many children": (bytes) => `<a>${filled(bytes, () => "<b/>")}</a>`,
  "many declarations, each copied": (bytes) =>
    `<a${filled(bytes / 2, (n) => ` xmlns:p${n}="q"`)}>${filled(bytes / 2, () => `<b xmlns="c"/>`)}</a>`,
  "a long namespace on many attributes": (bytes) =>
    `<a xmlns:p="${"n".repeat(bytes / 2)}"${filled(bytes / 2, (n) => ` p:b${n}=""`)}/>`,
  "many references": (bytes) => `<a>${filled(bytes, () => "&amp;")}</a>`,
  "a reference that does not end": (bytes) => `<a>&${"a".repeat(bytes)}</a>`,
  "many ampersands": (bytes) => `<a>${"&".repeat(bytes)}</a>`,
  "many comments": (bytes) => `<a>${filled(bytes, () => "<!---->")}</a>`,
  "comments around the root": (bytes) => `${filled(bytes, () => "<!----> ")}<a/>`,
  "a long name": (bytes) => `<${"a".repeat(bytes)}/>`,
  "open tags": (bytes) => "<a ".repeat(bytes / 3),
  "many CDATA sections": (bytes) => `<a>${filled(bytes, () => "x<![CDATA[y]]>")}</a>`,
  "CDATA that does not end": (bytes) => `<a>${"<![CDATA[".repeat(bytes / 9)}`,
  brackets: (bytes) => `<a>${"]]".repeat(bytes / 2)}</a>`,
  spaces: (bytes) => `<a${" ".repeat(bytes)}b`,
};

for (const [kind, make] of Object.entries(hostile)) {
  test(`hostile input of any size takes little processor time and memory: ${kind}`, () => {
    for (let bytes = 16 * 1024; bytes <= 1024 * 1024; bytes *= 2) {
      const text = make(bytes);
      const [before, start] = [process.memoryUsage.rss(), process.cpuUsage()];
      try {
        parse(text);
      } catch (error) {
        expect(error).toBeInstanceOf(XmlError);
      }
      const { user, system } = process.cpuUsage(start);
      // Far from what any of it takes where each character is looked at once; stops before a blow-up hurts.
      expect({ bytes, isCheap: user + system < 2_000_000 }).toEqual({ bytes, isCheap: true });
      expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(300);
    }
  });
}

test("a small document does not become a monster when it is printed", () => {
  const bytes = 16 * 1024;
  const text = `<p:a xmlns:p="${"n".repeat(bytes / 2)}">${filled(bytes / 2, () => "<p:b/>")}</p:a>`;
  let printed = "";
  try {
    printed = printXml(parse(text));
  } catch (error) {
    expect(error).toBeInstanceOf(XmlError);
  }
  expect(printed.length).toBeLessThan(100 * bytes);
});

test("attributes count as elements do", () => {
  const text = `<a x="1" y="2"><b/></a>`;
  expect(() => parseXml(Buffer.from(text), 3)).toThrow("elements and attributes");
  expect(parseXml(Buffer.from(text), 4).attributes.size).toBe(2);
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeText, encodeText, kindOf } from "../../src/console/pages/buckets/preview/model.ts";
import "./texts.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a text whose lines end in one way is written back byte for byte, with its mark", () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n\0\uFEFF]/g, ""));
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom("\n", "\r\n"), fc.boolean(), (lines, end, mark) => {
      const original = (mark ? "\uFEFF" : "") + lines.join(end);
      const file = decodeText(bytes(original));
      expect(file?.mixed).toBe(false);
      expect(file?.text).toBe(lines.join("\n"));
      if (file !== undefined) expect(encodeText(file.text, file)).toBe(original);
    }),
  );
});

test("lines that end in different ways are told", () => {
  expect(decodeText(bytes("a\r\nb\nc"))?.mixed).toBe(true);
  expect(decodeText(bytes("a\rb"))?.mixed).toBe(true);
});

test("texts in other encodings are read, and what is no text is not taken for one", () => {
  expect(decodeText(Uint8Array.of(0x66, 0xfc, 0x72))).toMatchObject({
    text: "für",
    encoding: "windows-1252",
  });
  const utf16 = (order: "le" | "be") => {
    const units = new Uint8Array(Buffer.from("\uFEFFgrüß\n中", "utf16le"));
    if (order === "be") Buffer.from(units.buffer).swap16();
    return decodeText(units);
  };
  expect(utf16("le")).toMatchObject({ text: "grüß\n中", mark: true, encoding: "utf-16le" });
  expect(utf16("be")).toMatchObject({ text: "grüß\n中", mark: true, encoding: "utf-16be" });
  for (const binary of [
    [0x61, 0x00, 0x62],
    [0x7f, 0x45, 0x4c, 0x46, 0x02, 0xff, 0x01],
    [0xff, 0x00, 0x61],
  ])
    expect(decodeText(Uint8Array.from(binary))).toBeUndefined();
});

test("the beginning of a text may end in the middle of a character", () => {
  const cut = bytes("aé中").slice(0, -1);
  expect(decodeText(cut, { isPart: true })).toMatchObject({ text: "aé", encoding: "utf-8" });
});

test("a file is shown by its ending, whatever else its name holds", () => {
  expect(kindOf("a.b/Photo.JPG")).toEqual({ as: "image", type: "image/jpeg" });
  expect(kindOf("x.png/index.html")).toEqual({ as: "text", language: "html" });
  expect(kindOf("archive.tar.gz")).toEqual({ as: "archive" });
  expect(kindOf("Dockerfile")).toEqual({ as: "text", language: "dockerfile" });
  expect(kindOf("README.md")).toMatchObject({ as: "markdown" });
  for (const name of ["COPYING", "a.constructor", "b.__proto__"])
    expect(kindOf(name)).toEqual({ as: "unknown" });
});

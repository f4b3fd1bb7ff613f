import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeText, encodeText, kindOf } from "../../src/console/pages/buckets/preview/file-content.ts";

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

test("what is no UTF-8 text is not taken for one", () => {
  expect(decodeText(Uint8Array.of(0x66, 0xfc, 0x72))).toBeUndefined();
  expect(decodeText(Uint8Array.of(0x61, 0x00, 0x62))).toBeUndefined();
});

test("a file is shown by its ending, whatever else its name holds", () => {
  expect(kindOf("a.b/Photo.JPG")).toEqual({ as: "image", type: "image/jpeg" });
  expect(kindOf("x.png/index.html")).toEqual({ as: "text", language: "html" });
  expect(kindOf("archive.tar.gz")).toEqual({ as: "binary" });
  for (const name of ["LICENSE", "a.constructor", "b.__proto__"])
    expect(kindOf(name)).toEqual({ as: "unknown" });
});

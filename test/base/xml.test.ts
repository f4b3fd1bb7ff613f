import { expect, test } from "bun:test";
import fc from "fast-check";
import { escapeXml, parseXml, printXml, textOf, type XmlElement, XmlError } from "../../src/base/xml.ts";

const parse = (text: string) => parseXml(Buffer.from(text));

/** A tree in short: tags with `{namespace}name`, attributes and children. */
function short({ namespace, name, attributes, children }: XmlElement): unknown[] {
  const tag = namespace === "" ? name : `{${namespace}}${name}`;
  const own = attributes.size === 0 ? [] : [Object.fromEntries(attributes)];
  return [tag, ...own, ...children.map((child) => (typeof child === "string" ? child : short(child)))];
}

test("elements and attributes have the namespaces that are declared where they stand", () => {
  expect(
    short(
      parse(
        `<D:a xmlns:D="DAV:" xmlns="n"><b c="1" D:c="2"/><D:d xmlns:D="other" D:e=""><D:f/></D:d><g xmlns=""><h D:i=""/></g><D:j xml:lang="de"/></D:a>`,
      ),
    ),
  ).toEqual([
    "{DAV:}a",
    ["{n}b", { "{}c": "1", "{DAV:}c": "2" }],
    ["{other}d", { "{other}e": "" }, ["{other}f"]],
    ["g", ["h", { "{DAV:}i": "" }]],
    ["{DAV:}j", { "{http://www.w3.org/XML/1998/namespace}lang": "de" }],
  ]);
  expect(short(parse(`<ü:日本 xmlns:ü="urn:é"/>`))).toEqual(["{urn:é}日本"]);
});

test("text is what stands between the tags, however it is written", () => {
  const stories: Array<[xml: string, ...children: unknown[]]> = [
    ["<a>x</a>", "x"],
    ["<a></a>"],
    ["<a />"],
    ["<a\n></a\t>"],
    ["<a> <b/>\n</a>", " ", ["b"], "\n"],
    ["<a>&lt;&gt;&amp;&quot;&apos;</a>", `<>&"'`],
    ["<a>&#65;&#x42;&#x1F600;&#13;</a>", "AB😀\r"],
    ["<a>&amp;lt;</a>", "&lt;"],
    ["<a><![CDATA[<b>&amp;]] ></b>]]></a>", "<b>&amp;]] ></b>"],
    ["<a>x<![CDATA[]]>y<!-- <b> --><?p <c> ?>z</a>", "xyz"],
    ["<a><![CDATA[]]></a>"],
    ["<a>one\r\ntwo\rthree\nfour</a>", "one\ntwo\nthree\nfour"],
    ["<a>😀é</a>", "😀é"],
    ["<a>></a>", ">"],
    ["<a>]]&gt;]]</a>", "]]>]]"],
  ];
  for (const [xml, ...children] of stories)
    expect([xml, ...short(parse(xml))]).toEqual([xml, "a", ...children]);
  expect(textOf(parse("<a>1<b>2<c>3</c></b><d/>4</a>"))).toBe("1234");
});

test("attribute values have either quote, references and plain spaces", () => {
  const { attributes } = parse(`<a one="'" two='"' three = "&quot;&#10;&lt;" four="x\ty\nz" five=">"/>`);
  expect(Object.fromEntries(attributes)).toEqual({
    "{}one": "'",
    "{}two": '"',
    "{}three": '"\n<',
    "{}four": "x y z",
    "{}five": ">",
  });
});

test("line ends are one character everywhere, in CDATA and in attributes as well", () => {
  expect(short(parse("<a><![CDATA[one\r\ntwo\rthree]]></a>"))).toEqual(["a", "one\ntwo\nthree"]);
  expect(short(parse(`<a b="one\r\ntwo\rthree"/>`))).toEqual(["a", { "{}b": "one two three" }]);
});

test("what stands around the root says nothing", () => {
  const xml = `<?xml version="1.0" encoding="UTF-8" standalone='yes'?>\n<!-- a --> <?pi b?><a/>\n<!-- c --><?pi?>\n`;
  expect(short(parse(xml))).toEqual(["a"]);
});

test("UTF-8 with and without a mark and UTF-16 of either order are read", () => {
  const xml = `<ü>日本 😀</ü>`;
  const little = Buffer.from(`\ufeff${xml}`, "utf16le");
  const big = Buffer.from(little).swap16();
  for (const bytes of [Buffer.from(xml), Buffer.from(`\ufeff${xml}`), little, big])
    expect(short(parseXml(bytes))).toEqual(["ü", "日本 😀"]);
  const broken = [
    Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e]),
    Buffer.from("<a>\xe9</a>", "latin1"),
    Buffer.concat([little, Buffer.from([0x3c])]),
    Buffer.from("\ufeff<a>\ud800</a>", "utf16le"),
    Buffer.from("<a/>", "utf16le"),
  ];
  for (const bytes of broken) expect(() => parseXml(bytes)).toThrow(XmlError);
});

const malformed = [
  ...["", " ", "text", "<", "<a", "<a>", "<a/", "<a></a", "<a></b>", "</a>", "<a/><b/>", "<a/>x", "x<a/>"],
  ...["<a></ a>", "< a/>", "<a / >", "<1/>", "<-a/>", "<a b/>", "<a b=/>", "<a b=c/>", `<a b="c/>`],
  ...[`<a b="1" b="2"/>`, `<a b="1"c="2"/>`, `<a b="<"/>`, `<a b="&"/>`, `<a b="&x;"/>`, `<a "b"/>`],
  ...["<a>&</a>", "<a>& </a>", "<a>&amp</a>", "<a>&nope;</a>", "<a>&;</a>", "<a>&#;</a>", "<a>&#x;</a>"],
  ...["<a>&toString;</a>", "<a>&__proto__;</a>", "<a>&#xg;</a>", "<a>&#-1;</a>", "<a>&#1e3;</a>"],
  ...["<a>&#0;</a>", "<a>&#8;</a>", "<a>&#xFFFE;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>"],
  ...["<a>\0</a>", "<a>\x01</a>", "<a>\x0b</a>", "<a>\ufffe</a>", "<a>\uffff</a>"],
  ...["<a>]]></a>", "<a><![CDATA[x</a>", "<![CDATA[x]]>", "<a/><![CDATA[x]]>", "<a><![cdata[x]]></a>"],
  ...["<a><!-- x</a>", "<a><!-- -- --></a>", "<a><!-- ---></a>", "<a><!- x -></a>", "<a><?x</a>", "<a/><?x"],
  ...["<!DOCTYPE a><a/>", `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, `<!doctype a SYSTEM "x"><a/>`],
  ...[`<a><!ENTITY b "c"></a>`, "<a/><!DOCTYPE a>", "<a:b/>", `<a b:c=""/>`, `<a xmlns:b=""/>`, "<:a/>"],
  ...[`<a: xmlns:a="x"/>`, `<a:b:c xmlns:a="x"/>`, `<a :b=""/>`, "<xmlns:a/>", `<a xmlns:xmlns="x"/>`],
  ...[`<a xmlns:xml="x"/>`, `<a xmlns:b="http://www.w3.org/XML/1998/namespace"/>`],
  ...[`<a x:b="" y:b="" xmlns:x="n" xmlns:y="n"/>`, `<a><b xmlns:c="d"/><c:e/></a>`],
];

test("what is not well-formed is refused with a reason", () => {
  for (const xml of malformed) {
    let refusal: unknown;
    try {
      parse(xml);
    } catch (error) {
      refusal = error;
    }
    expect({
      xml,
      refused: refusal instanceof XmlError,
      why: refusal instanceof XmlError && refusal.message.length > 5,
    }).toEqual({
      xml,
      refused: true,
      why: true,
    });
  }
});

test("the namespace of declarations cannot be had by another name", () => {
  for (const xml of [
    `<a xmlns="http://www.w3.org/2000/xmlns/"/>`,
    `<b:a xmlns:b="http://www.w3.org/2000/xmlns/"/>`,
  ])
    expect(() => parse(xml)).toThrow(XmlError);
});

test("a number may have as many zeros as somebody likes before it", () => {
  expect(short(parse("<a>&#x00000000000000000041;&#0000000000000000066;</a>"))).toEqual(["a", "AB"]);
});

test("nesting has an end, and an endless one breaks nothing", () => {
  const nested = (depth: number) => "<a>".repeat(depth) + "</a>".repeat(depth);
  expect(textOf(parse(nested(64)))).toBe("");
  for (const depth of [65, 1000, 1_000_000]) expect(() => parse(nested(depth))).toThrow(XmlError);
  expect(() => parse("<a>".repeat(1_000_000))).toThrow(XmlError);
});

test("text that XML cannot hold is written as something it can", () => {
  for (const text of ["plain", `<&>"'`, "]]>", "\r\n\t", "\0\x01\x1f\ufffe\uffff", "日本 😀"]) {
    const read = textOf(parse(`<a>${escapeXml(text)}</a>`));
    expect(read).toBe(text.replace(/[\0\x01\x1f\ufffe\uffff]/g, "\ufffd"));
    expect(parse(`<a b="${escapeXml(text.replace(/[\n\t]/g, ""))}"/>`).attributes.get("{}b")).toBe(
      read.replace(/[\n\t]/g, ""),
    );
  }
});

const legal = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(..."<>&\"' \r]", "é", "😀", "\u2028"),
      fc.string({ unit: "grapheme", maxLength: 1 }),
    ),
  })
  .map((text) => text.replace(/[\0-\x1f\ufffe\uffff]/g, (found) => (found === "\r" ? found : "")))
  .filter((text) => text.isWellFormed());
const name = fc.constantFrom("a", "B", "_c", "d-e", "f.1", "ü", "日本", "xmlish", "n", "a0");
const namespace = fc.constantFrom("", "DAV:", "urn:x", "n", `http://h/?a&b"<c>`, "{}", " ", "日本");

/** Children as a parser gives them: no empty text, no two texts in a row. */
function merged(children: ReadonlyArray<XmlElement | string>): Array<XmlElement | string> {
  const result: Array<XmlElement | string> = [];
  for (const child of children) {
    const last = result.at(-1);
    if (typeof child === "string" && typeof last === "string") result[result.length - 1] = last + child;
    else if (child !== "") result.push(child);
  }
  return result;
}

const trees = (value: fc.Arbitrary<string>, spaces: fc.Arbitrary<string>) =>
  fc.letrec<{ tree: XmlElement }>((tie) => ({
    tree: fc.record({
      namespace: spaces,
      name,
      attributes: fc
        .array(
          fc.tuple(fc.oneof(namespace, fc.constant("http://www.w3.org/XML/1998/namespace")), name, value),
          { maxLength: 3 },
        )
        .map((list) => new Map(list.map(([space, local, text]) => [`{${space}}${local}`, text]))),
      children: fc
        .array(fc.oneof({ depthSize: "small" }, legal, fc.oneof({ maxDepth: 4 }, legal, tie("tree"))), {
          maxLength: 4,
        })
        .map(merged),
    }),
  })).tree;

test("what is printed is read as the same tree", () => {
  fc.assert(
    fc.property(trees(legal, namespace), (tree) => {
      expect(parse(printXml(tree))).toEqual(tree);
    }),
    { numRuns: 500 },
  );
});

test("a tab and a line end in an attribute survive being printed", () => {
  const tree = parse(`<a b="1&#9;2&#10;3&#13;4"/>`);
  expect(tree.attributes.get("{}b")).toBe("1\t2\n3\r4");
  expect(parse(printXml(tree))).toEqual(tree);
});

test("an element in XML's own namespace can be printed", () => {
  const tree = parse(`<a><xml:b xml:c="d"/></a>`);
  expect(parse(printXml(tree))).toEqual(tree);
});

test("any input is a tree, which prints as itself, or an XmlError, and nothing else", () => {
  const pieces = fc.constantFrom(
    ..."<>/&;\"'=![]?-: \r\n",
    ...["<a", "</a>", "<b>", "</b>", " xmlns=", ' xmlns:p="q"', "<p:c", "<!--", "-->", "<![CDATA[", "]]>"],
    ...["<?xml ", "?>", "<!DOCTYPE", "&amp;", "&#65;", "&#x", "xml:lang", "\ufeff", "é", "\u0000", "\ud800"],
  );
  const texts = fc.array(pieces, { maxLength: 30 }).map((list) => list.join(""));
  const spoiled = fc
    .tuple(trees(legal, namespace), fc.nat(), fc.nat(3), texts)
    .map(([tree, at, cut, more]) => {
      const text = printXml(tree);
      const place = at % text.length;
      return text.slice(0, place) + more + text.slice(place + cut);
    });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    texts.map((text) => Buffer.from(text)),
    spoiled.map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (input) => {
      let tree: XmlElement;
      try {
        tree = parseXml(input);
      } catch (error) {
        expect(error).toBeInstanceOf(XmlError);
        return;
      }
      const again = printXml(tree).replace(/\t|\n/g, " ");
      expect(parse(again).name).toBe(tree.name);
    }),
    { numRuns: 3000 },
  );
});

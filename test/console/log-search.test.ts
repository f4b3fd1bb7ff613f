import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Row, Segment } from "../../src/console/pages/logs/model.ts";
import { IncrementalFilter, Search } from "../../src/console/pages/logs/model.ts";
import "./texts.ts";

const pieces = (...texts: string[]) => texts.map((text): Segment => ({ kind: "message", text }));
const marked = (search: Search, ...texts: string[]) =>
  search
    .mark(pieces(...texts))
    .map((parts) => parts.map(({ text, marked }) => (marked ? `[${text}]` : text)).join(""));

test("a search is for plain text, in any case, also across the pieces of a line", () => {
  expect(marked(new Search("a.b"), "A.b aXb")).toEqual(["[A.b] aXb"]);
  expect(marked(new Search("o t"), "INFO", "task o t")).toEqual(["INF[O]", "[t]ask [o t]"]);
  expect(marked(new Search("ß"), "İİ Straße")).toEqual(["İİ Stra[ß]e"]);
  expect(marked(new Search(""), "text")).toEqual(["text"]);
  expect([new Search("").isEmpty, new Search("").finds("text")]).toEqual([true, false]);
  for (const sign of "\\^$.*+?()[]{}|/-#&~,:=")
    expect(marked(new Search(sign), `a${sign}b`)).toEqual([`a[${sign}]b`]);
});

test("marking changes no text, and marks something exactly where the search finds something", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary", minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
      (texts, wanted) => {
        const search = new Search(wanted);
        const cut = search.mark(pieces(...texts));
        expect(cut.map((parts) => parts.map(({ text }) => text).join(""))).toEqual(texts);
        if (wanted.trim() !== "")
          expect(cut.flat().some(({ marked }) => marked)).toBe(search.finds(texts.join(" ")));
      },
    ),
  );
});

test("matches are kept up as rows come and go, each row looked at once", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 })), { maxLength: 30 }), (steps) => {
      const looked: number[] = [];
      const passes = ({ id }: Row) => id % 3 === 0;
      const filter = new IncrementalFilter((row) => {
        looked.push(row.id);
        return passes(row);
      });
      let shown: Row[] = [];
      let next = 1;
      for (const [come, go] of steps) {
        for (let count = 0; count < come; count += 1)
          shown.push({ id: next++, kind: "gap", after: undefined, before: undefined });
        shown = shown.slice(Math.min(go, shown.length));
        expect(filter.update(shown)).toEqual(shown.filter(passes));
      }
      expect(new Set(looked).size).toBe(looked.length);
    }),
  );
});

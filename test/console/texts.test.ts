import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { faultReason } from "../../src/base/fault.ts";
import { ago, duration, listed, sentences, shortTime } from "../../src/console/format.ts";
import { formatValue } from "../../src/console/pages/overview/model.ts";
import { languageRows, languages, type TextGroup, textGroups } from "../../src/console/text/language.ts";
import { refusalOf } from "../../src/console/text/refusal.ts";
import { setLanguage, t } from "../../src/console/text/text.ts";
import "./texts.ts";

const root = new URL("../../src/console/", import.meta.url).pathname;
const sources = [...new Glob("**/*.{ts,tsx}").scanSync(root)].filter(
  (path) => !path.startsWith("text/en") && !path.startsWith("text/zh"),
);
const codeOf = async (path: string) => Bun.file(root + path).text();

/** Every text of a catalogue by its path; functions are called with recognisable arguments. */
function leaves(value: unknown, path: string): [path: string, text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function")
    return [
      [
        path,
        String(value(...Array.from({ length: value.length }, (_, at) => ({ toString: () => `{${at}}` })))),
      ],
    ];
  return Object.entries(value as object).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`));
}

test("every text of the catalogue is used, and every used text is in it", async () => {
  const codes = await Promise.all(sources.map(codeOf));
  const used = new Set(
    codes.flatMap((code) =>
      [...code.matchAll(/\bt\s*\.\s*(\w+)\s*\.\s*(\w+)/g)].map(([, group, key]) => `${group}.${key}`),
    ),
  );
  /** A key that is not written after its group: `t.logs[state]`, or a text that the group is handed to. */
  const all = codes.join("\n");
  const isNamed = (group: string, key: string) =>
    new RegExp(`\\bt\\.${group}\\b(?!\\.)`).test(all) && new RegExp(`\\b${key}\\b`).test(all);
  const known = textGroups.flatMap((group) => Object.keys(t[group]).map((key) => [group, key] as const));
  expect(known.filter(([group, key]) => !used.has(`${group}.${key}`) && !isNamed(group, key))).toEqual([]);
  const names = new Set(known.map(([group, key]) => `${group}.${key}`));
  expect([...used].filter((key) => !names.has(key))).toEqual([]);
});

describe("the Chinese catalogue", () => {
  const load = (group: TextGroup) =>
    Promise.all(languages.map((language) => languageRows[language].texts[group]()));

  test("has the same texts as the English one, with the same parts", async () => {
    for (const group of textGroups) {
      const [en, zh] = (await load(group)).map((texts) => Object.entries(texts));
      expect(zh?.map(([key]) => key).sort()).toEqual(en?.map(([key]) => key).sort());
      const parts = (text: unknown) => (typeof text === "string" ? (text.match(/<\w+>/g) ?? []).sort() : []);
      for (const [key, text] of en ?? [])
        expect([key, parts(zh?.find(([other]) => other === key)?.[1])]).toEqual([key, parts(text)]);
    }
  });

  test("is in Chinese", async () => {
    // Names that are the same in both languages.
    const names = new Set(
      "sql api uuid json jsonSchema cors sqlTitle orKeys trueOrFalse nodeUrl and betweenActions betweenFamilies".split(
        " ",
      ),
    );
    for (const group of textGroups) {
      const texts = await languageRows.zh.texts[group]();
      for (const [key, text] of Object.entries(texts)) {
        if (names.has(key) || typeof text !== "string") continue;
        expect([`${group}.${key}`, text]).toEqual([
          `${group}.${key}`,
          expect.stringMatching(/[\u4e00-\u9fff]/),
        ]);
      }
    }
  });

  test("has no sentence with English punctuation at its end", async () => {
    for (const group of textGroups)
      for (const [path, text] of leaves(await languageRows.zh.texts[group](), group).filter(([, text]) =>
        /[\u4e00-\u9fff][.,:;?!]$/.test(text),
      ))
        throw new Error(`${path} ends like an English sentence: ${text}`);
  });

  test("keeps the rules of typesetting at the head of its frame.ts", async () => {
    /** What these put in begins or ends with 汉字 or a full-width sign. */
    const withoutBlank = [
      "buckets.mountIntro",
      "files.nextTry",
      "files.sortBy",
      "tokens.expiresIn",
      "tokens.starts",
    ];
    const missingBlank = /\p{Script=Han}[A-Za-z0-9<{`%]|[A-Za-z0-9>}`%]\p{Script=Han}/u;
    const wrongSign =
      / [，。：；？！、（）“”%]|[，。：；？！、（）“”] |……|\.{3}|\p{Script=Han}[,;:?!()]|[,;:?!()]\p{Script=Han}/u;
    const wrong: (readonly [string, string])[] = [];
    for (const group of textGroups)
      for (const [path, text] of leaves(await languageRows.zh.texts[group](), group)) {
        if (missingBlank.test(text) && !withoutBlank.includes(path)) wrong.push([path, text]);
        if (wrongSign.test(text)) wrong.push([path, text]);
      }
    expect(wrong).toEqual([]);
  });
});

test("times, percentages and lists keep the rules of typesetting of their language", async () => {
  const now = Date.parse("2026-11-15T08:41:00");
  const [minute, day] = [60_000, 86_400_000];
  const texts = () => [
    ago(now - 31 * minute, now),
    ago(now + 3 * day, now),
    duration(2 * day + 3 * 60 * minute),
    shortTime(now),
    formatValue(1, "percent"),
    listed(["a", "b"]),
    sentences(t.frame.savedNotice, false, t.frame.expiredToken),
  ];
  expect(texts()).toEqual([
    "31 minutes ago",
    "in 3 days",
    "2 days 3 hours",
    "15 Nov, 08:41",
    "1%",
    "a, b",
    "Saved. This token has expired. Ask for a new one.",
  ]);
  await setLanguage("zh");
  try {
    expect(texts()).toEqual([
      "31 分钟前",
      "3 天后",
      "2 天 3 小时",
      "11 月 15 日 08:41",
      "1%",
      "a、b",
      "已保存。此令牌已过期，请索取新的令牌。",
    ]);
  } finally {
    await setLanguage("en");
  }
});

/** Attributes whose text people see or hear. */
const spoken =
  /\b(?:title|label|hint|placeholder|alt|text|action|aria-label|aria-description)="(?=[^"]*[A-Za-z]{2})([^"]*)"/g;
/** A text between two tags, or between a tag and an expression. */
const between = /(?<=[\w"'}\]] ?>|\/>)\s*([^<>{}()=;&|]*[A-Za-z]{2,}[^<>{}()=;&|]*?)\s*(?=<|\{)/g;
/** Names, key caps and commands, which are the same in every language. */
const untranslated =
  /^(?:node-server(?: login)?|Ctrl|Enter|memory_log_filter|export|null|token_limit|v1\.2\.3|info,db=trace|keep_audit_days)$/;

/** A literal that starts like a sentence. */
const sentence = /(?<!new Error\()["`][A-Z][a-z]* [a-z]+ [^"`]*["`]/g;

test("no component has a text of its own", async () => {
  const found: string[] = [];
  for (const path of sources.filter((path) => path.endsWith(".tsx"))) {
    const code = (await codeOf(path)).replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
    const markup = code.slice(code.indexOf("return ("));
    for (const [, text = ""] of [...code.matchAll(spoken), ...markup.matchAll(between)])
      if (!untranslated.test(text.trim()) && !/^, \w+:$/.test(text))
        found.push(`${path}: ${text.trim().slice(0, 80)}`);
  }
  for (const path of sources)
    for (const [text] of (await codeOf(path))
      .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
      .matchAll(sentence))
      found.push(`${path}: ${text.slice(0, 80)}`);
  expect(found).toEqual([]);
});

test("refusals of the server are said in Chinese, by their reason and its values", async () => {
  const { sentences } = (await languageRows.zh.texts.refusals()) as typeof t.refusals;
  expect(Object.keys(sentences).filter((reason) => faultReason(reason) === undefined)).toEqual([]);
  const taken = { reason: "host_taken", host: "a.example", bucket: "site" };
  expect(refusalOf(taken)).toBeUndefined();
  await setLanguage("zh");
  try {
    expect(refusalOf(taken)).toBe("主机名 a.example 已属于存储桶 site。");
  } finally {
    await setLanguage("en");
  }
});

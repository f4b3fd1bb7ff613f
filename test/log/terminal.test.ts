import { expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { formatLine, TerminalOutput, TerminalSink } from "../../src/log/terminal.ts";

const source = new URL("../../src/log/", import.meta.url).pathname;
const obeyed = /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0041}]/u;

const entry: LogEntry = {
  timestamp: "2026-01-02T03:04:05.006+01:00",
  level: "WARN",
  target: "token",
  message: "refused credentials",
  fields: { token_key: "abc", address: "127.0.0.1", n: 3, words: "two words" },
  spans: [
    { name: "token::get", fields: "token_key=abc" },
    { name: "inner", fields: "" },
  ],
};

test("a line shows time, level, target, spans, message and fields", () => {
  expect(formatLine(entry, false)).toBe(
    '2026-01-02T03:04:05.006+01:00  WARN token: token::get{token_key=abc}:inner: refused credentials token_key=abc address=127.0.0.1 n=3 words="two words"',
  );
});

test("with the format json a line on standard error is the entry, without a character that a terminal obeys", () => {
  const lines: string[] = [];
  const output = new TerminalOutput({ write: (text) => lines.push(text) > 0, once: () => {} }, () => "");
  new TerminalSink(parseFilter("info"), output, "json").write({ ...entry, message: "a\u009b\nb" });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ ...entry, message: "a\u009b\nb" }]);
  expect(lines[0]).toMatch(/^[^\x00-\x1f\x7f-\x9f]*\n$/);
});

test("a line without spans and fields has neither", () => {
  expect(formatLine({ ...entry, level: "ERROR", fields: {}, spans: [] }, false)).toBe(
    "2026-01-02T03:04:05.006+01:00 ERROR token: refused credentials",
  );
});

test("colours come only when asked for, and change no other character", () => {
  const coloured = formatLine(entry, true);
  expect(coloured).toContain("\x1b[33m WARN\x1b[0m");
  expect(coloured.replaceAll(/\x1b\[\d+m/g, "")).toBe(formatLine(entry, false));
  expect(formatLine(entry, false)).not.toContain("\x1b");
});

test("control, bidirectional and invisible characters that a client sent are shown, not obeyed", () => {
  for (const char of [
    "\0",
    "\x07",
    "\b",
    "\t",
    "\n",
    "\r",
    "\x1b",
    "\x7f",
    "\x85",
    "\x9b",
    "\u2028",
    "\u2029",
    // Bidirectional: they make a line read in another order than it was written.
    "\u061c",
    "\u200e",
    "\u200f",
    "\u202a",
    "\u202e",
    "\u2066",
    "\u2069",
    // Invisible: they make two names look the same.
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u{e0041}",
  ]) {
    const evil = `a${char}[2Jb`;
    const line = formatLine(
      { ...entry, message: evil, fields: { [evil]: evil }, spans: [{ name: evil, fields: `key=${evil}` }] },
      false,
    );
    expect({ char: char.charCodeAt(0).toString(16), obeyed: obeyed.test(line) }).toEqual({
      char: char.charCodeAt(0).toString(16),
      obeyed: false,
    });
    expect(line).not.toContain("a[2Jb");
  }
});

test("an escaped character is shown by its code point, and other text as it is", () => {
  const message = "r\u202eoot\x1b \u{e0041}é日本🙂\n\t";
  expect(formatLine({ ...entry, message, fields: {}, spans: [] }, false)).toEndWith(
    " token: r\\u{202e}oot\\u{1b} \\u{e0041}é日本🙂\\n\\t",
  );
});

test("whatever an entry holds, it stays one line", () => {
  const text = fc.string({ unit: fc.constantFrom("a", " ", '"', "\\", "=", "\n", "\r", "\x1b", "é") });
  fc.assert(
    fc.property(text, text, text, (message, value, span) => {
      const line = formatLine(
        { ...entry, message, fields: { value }, spans: [{ name: span, fields: span }] },
        false,
      );
      expect(line).not.toMatch(/[\n\r\x1b]/);
    }),
  );
});

const speak = `
  import { TerminalSink } from ${JSON.stringify(`${source}terminal.ts`)};
  import { parseFilter } from ${JSON.stringify(`${source}filter.ts`)};
  new TerminalSink(parseFilter("info")).write(${JSON.stringify(entry)});
`;

/** What the terminal sink of another process writes, and where. */
async function speakThrough(
  door: "pipe" | "terminal",
  env: Record<string, string>,
): Promise<{ out: string; err: string }> {
  const { NO_COLOR: _, ...inherited } = process.env;
  const options = { env: { ...inherited, ...env } };
  if (door === "pipe") {
    const run = Bun.spawn([process.execPath, "-e", speak], { ...options, stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
    return { out, err };
  }
  let seen = "";
  const run = Bun.spawn([process.execPath, "-e", speak], {
    ...options,
    terminal: {
      cols: 500,
      data: (_terminal, bytes) => {
        seen += Buffer.from(bytes).toString("utf8");
      },
    },
  });
  await run.exited;
  for (let i = 0; i < 3000 && !seen.includes("\n"); i += 1) await Bun.sleep(10);
  run.terminal?.close();
  return { out: "", err: seen.replaceAll("\r\n", "\n") };
}

test("through a pipe the log goes to standard error, without colours", async () => {
  expect(await speakThrough("pipe", {})).toEqual({ out: "", err: `${formatLine(entry, false)}\n` });
});

test("a person's terminal gets colours, unless NO_COLOR is set", async () => {
  expect((await speakThrough("terminal", {})).err).toBe(`${formatLine(entry, true)}\n`);
  expect((await speakThrough("terminal", { NO_COLOR: "1" })).err).toBe(`${formatLine(entry, false)}\n`);
});

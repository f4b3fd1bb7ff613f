import { build } from "../build.ts";
import { otherVariables } from "../config/environment.ts";
import { type CommandRow, exitCodes, exitMeanings, type OptionRow, programDescription } from "./command.ts";
import { globalOptions, remote } from "./options.ts";
import { needText } from "./tokens/permissions.ts";

/** Options that the page describes once for all commands. */
const sharedOptions: readonly OptionRow[] = remote;

/** `manPage` returns the page node-server(1), in the macros of man(7), from the table of commands. */
export function manPage(commands: readonly CommandRow[], version: string = build.cargo_version): string {
  const other = Object.entries({
    "NODE_SERVER_<KEY>":
      "Sets the key of this name in the configuration, in capitals: NODE_SERVER_WS_LISTENER.",
    RUST_LOG: "Which entries the terminal shows; overrides log_filter.",
    ...otherVariables,
  });
  const files = Object.entries({
    "config.toml":
      "The configuration, in the working directory unless -c names another. `node-server check` checks it.",
    "~/.config/node-server/servers.json": "The saved servers and their tokens.",
  });
  return [
    `.TH NODE\\-SERVER 1 "" "${troffText(`node-server ${version}`)}" "User Commands"`,
    // Long names would stretch a justified line.
    ".ad l",
    ".SH NAME",
    `node\\-server \\- ${troffText(programDescription)}`,
    ".SH SYNOPSIS",
    ".B node\\-server",
    "[\\fB\\-c\\fR \\fIpath\\fR] \\fIcommand\\fR [\\fIarguments\\fR]",
    ".SH OPTIONS",
    ...globalOptions.map(optionEntry),
    '.SH "CLIENT OPTIONS"',
    "Every command that talks to a server takes these, before or after its name.",
    ...sharedOptions.map(optionEntry),
    ".SH COMMANDS",
    ...visible(commands).flatMap((row) => commandEntries(row, "node-server")),
    ".SH EXIT STATUS",
    ...Object.entries(exitMeanings).map(([name, means]) =>
      entry(String(exitCodes[name as keyof typeof exitCodes]), means),
    ),
    ".SH ENVIRONMENT",
    ...other.map(([name, means]) => entry(bold(name), means)),
    ".SH FILES",
    ...files.map(([name, means]) => entry(`\\fI${troffText(name)}\\fR`, means)),
    "",
  ].join("\n");
}

function visible(rows: readonly CommandRow[]): CommandRow[] {
  return rows.filter(({ hidden }) => !hidden);
}

/** `commandEntries` returns the sections of a command and of those below it. */
function commandEntries(row: CommandRow, above: string): string[] {
  const name = `${above} ${row.name}`;
  const below = visible(row.commands ?? []).flatMap((sub) => commandEntries(sub, name));
  if (row.run === undefined) return below;
  const choices = row.choices === undefined ? [] : [`.br\n${troffText(`One of ${row.choices.join(", ")}.`)}`];
  const needs = row.needs === undefined ? "" : `Needs ${needText(row.needs)}.`;
  const text = [(row.notes ?? "").trim(), needs].filter((part) => part !== "").join("\n\n");
  return [
    `.SS "${troffText(name)}"`,
    sentence(row.summary),
    ...choices,
    ...(row.options ?? []).filter((option) => !sharedOptions.includes(option)).map(optionEntry),
    ...(text === ""
      ? []
      : [".PP", ...text.split("\n").map((line) => (line.trim() === "" ? ".PP" : troffText(line.trim())))]),
    ...below,
  ];
}

function optionEntry([flags, description, more]: OptionRow): string {
  const marked = flags.replace(/<[^>]+>|[^<]+/g, (part) =>
    part.startsWith("<") ? `\\fI${troffText(part.slice(1, -1))}\\fR` : bold(part),
  );
  return entry(marked, description + (more?.default === undefined ? "" : ` (default: ${more.default})`));
}

function entry(term: string, text: string): string {
  return `.TP\n${term}\n${sentence(text)}`;
}

function bold(text: string): string {
  return `\\fB${troffText(text)}\\fR`;
}

/** `sentence` begins with a capital, unless with the name of a key, and ends with a full stop. */
function sentence(text: string): string {
  const first = /^[a-z]+_/.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return troffText(first + text.slice(1) + (/[.!?]$/.test(text) ? "" : "."));
}

/** `troffText` writes a text so that troff prints it as it is: a `-` to copy, and no line that is taken for a request. */
function troffText(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll("`", "")
    .replaceAll("…", "...")
    .replace(
      /[^\x20-\x7e\n]/gu,
      (char) => `\\[u${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^(?=[.'])/gm, "\\&");
}

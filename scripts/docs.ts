import { z } from "zod";
import { faultKinds } from "../src/base/fault.ts";
import { defaultConfigText } from "../src/config/default-config.ts";
import { otherVariables, variableOf } from "../src/config/environment.ts";
import { choicesOf, defaultOf, type Key } from "../src/config/key.ts";
import { sections, settings } from "../src/config/schema.ts";
import { events } from "../src/log/events.ts";
import { methods } from "../src/methods/index.ts";
import { failuresOf, type NamedTypes, needWords, typeText } from "../src/rpc/discover.ts";
import { effects, type Method, type MethodTable } from "../src/rpc/method.ts";
import { endReasons } from "../src/rpc/session.ts";
import type { Services } from "../src/services.ts";
import { clientEvents, clientTypes } from "./client-types.ts";

const note = "<!-- Printed by `npm run docs`; edit the declarations instead. -->\n";

/** Path → text of every page that is printed from the tables. */
export function generatedDocs(): Record<string, string> {
  return {
    "docs/rpc.md": rpcPage(methods),
    "docs/errors.md": errorsPage(),
    "docs/config.md": configPage(),
    "docs/events.md": eventsPage(),
    "src/console/pages/config/config-keys.json": consoleKeys(),
    "src/client/methods.ts": clientTypes(),
    "src/client/events.ts": clientEvents(),
  };
}

function rpcPage(table: MethodTable<Services>): string {
  const named: NamedTypes = new Map();
  const parts = Object.entries(table).map(([name, method]) => methodPart(name, method, named));
  const types = [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `### ${name}\n\n\`\`\`ts\n${text.replaceAll("} | {", "}\n| {")}\n\`\`\``);
  const head =
    "# Methods\n\nJSON-RPC 2.0 at `/jsonrpc`, by POST and over WebSocket; `/node/rpc` and `/` answer the same, for clients that expect them there. Params are named, or positional in the order of the tables; unknown members are ignored. `rpc.discover` returns the same as an OpenRPC document (kinds of errors with the same number are one entry there), with fields of its own: `x-authorization` lists what a caller must hold (one of the list is enough; `param` names the param that holds the name of the scope), `x-need` says it in words, `x-effect` is one of the effects below, `x-warning` is a sentence to read before the call, `x-event` the schema of a subscription's events, `x-credential` marks the param that holds the caller's token, and `writeOnly` in a schema marks a secret. Errors are listed with their numbers in [errors.md](errors.md); every method can also fail with `Internal`.";
  const effectRows = Object.entries(effects).map(([effect, means]) => `| \`${effect}\` | ${means} |`);
  const about = `| Effect | The call |\n|---|---|\n${effectRows.join("\n")}`;
  return `${note}${head}\n\n${about}\n\n${parts.join("\n\n")}\n\n${subscriptionsPart()}\n\n## Types\n\n${types.join("\n\n")}\n`;
}

function subscriptionsPart(): string {
  const example = (member: Record<string, unknown>) =>
    JSON.stringify({
      jsonrpc: "2.0",
      method: "node-server_stream_log",
      params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf", ...member },
    });
  const rows = Object.entries(endReasons).map(([reason, means]) => `| \`${reason}\` | ${means} |`);
  return `## Subscriptions

A subscription belongs to the WebSocket that it was created on. Its notifications have the name of its method, and \`params\` with the id as \`subscription\` and one of three members:

- \`result\`: an event.
- \`dropped\`: this many events were dropped here, because the reader is too slow.
- \`end\`: the server ends the subscription, and nothing follows. One that the client itself ends, by the method for it or by closing the connection, gets no \`end\`.

\`\`\`json
${example({ dropped: 12 })}
${example({ end: { reason: "token_invalid" } })}
\`\`\`

| \`end.reason\` | Meaning |
|---|---|
${rows.join("\n")}

A log stream also has an entry for people in both cases: WARN on \`server\` with \`fields.event\` \`log.dropped\` after \`dropped\`, and \`log.ended\` before the \`end\` of a stream whose token is not valid any more.`;
}

function methodPart(name: string, method: Method<Services>, named: NamedTypes): string {
  const params = Object.entries(method.accepts.shape).map(([param, type]) => {
    const optional = z.safeParse(type, undefined).success;
    const { description = "" } = z.globalRegistry.get(type) ?? {};
    return `| \`${param}\` | \`${cell(typeText(type, "input", named))}\` | ${optional ? "no" : "yes"} | ${cell(description)} |`;
  });
  const errors = failuresOf(method);
  return [
    `## \`${name}\``,
    `${method.replacedBy === undefined ? "" : `**Deprecated**: use \`${method.replacedBy}\`. `}${method.doc}`,
    `Needs: ${needWords(method)}. Effect: ${method.effect}.${method.warning === undefined ? "" : ` **${method.warning}**`}`,
    params.length === 0
      ? "No params."
      : `| Param | Type | Required | |\n|---|---|---|---|\n${params.join("\n")}`,
    `Result: \`${typeText(method.result, "output", named)}\``,
    ...(method.event === undefined
      ? []
      : [
          `Each event, as \`params.result\` of a notification \`${name}\`: \`${typeText(method.event, "output", named)}\`. Dropped events and the end of the stream are [notifications of their own](#subscriptions).`,
        ]),
    errors.length === 0
      ? "Errors: none of its own."
      : `Errors: ${errors.map((kind) => `\`${kind}\``).join(", ")}.`,
    ...(method.example === undefined ? [] : [exampleText(name, method.example)]),
  ].join("\n\n");
}

function exampleText(name: string, { params, result }: NonNullable<Method<Services>["example"]>): string {
  const request = JSON.stringify({
    jsonrpc: "2.0",
    method: name,
    ...(Object.keys(params).length > 0 ? { params } : {}),
    id: 1,
  });
  return `\`\`\`json\n${request}\n${JSON.stringify({ jsonrpc: "2.0", result, id: 1 })}\n\`\`\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function errorsPage(): string {
  const rows = Object.entries(faultKinds).map(([kind, row]) => {
    const message = "bare" in row ? row.title : `${row.title}: …`;
    return `| ${row.code} | \`${kind}\` | \`${message}\` | ${cell(row.description)} |`;
  });
  const reasons = Object.entries(faultKinds).flatMap(([kind, row]) =>
    "reasons" in row
      ? Object.entries(row.reasons).map(
          ([reason, means]) => `| \`${kind}\` | \`${reason}\` | ${cell(means)} |`,
        )
      : [],
  );
  const head =
    "# Errors\n\nEvery error object has a `code`, a `message` as below (`…` is a sentence for people, which may change), and `data` with the `kind` and whatever helps a program (`field`, `line`, `column`, `path`, `limit`, `reason`, …). `data.detail` is the sentence of the message without its title.";
  const about =
    "## Reasons\n\n`data.reason` says which case it was. Every `PermissionDenied` has one, also where a method for the Super Token answers every other token with the same message. An unknown name and a wrong secret are the same reason; the others are reported only to a caller that proved the token.";
  return `${note}${head}\n\n| Code | Kind | Message | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n\n${about}\n\n| Kind | \`data.reason\` | Meaning |\n|---|---|---|\n${reasons.join("\n")}\n`;
}

function eventsPage(): string {
  const named: NamedTypes = new Map();
  const rows = Object.entries(events).map(([code, { level, description, fields }]) => {
    const isEmpty = Object.keys(fields.shape).length === 0;
    const type = isEmpty ? "" : `\`${cell(typeText(fields, "output", named))}\``;
    return `| \`${code}\` | ${level} | ${type} | ${cell(description)} |`;
  });
  const types = [...named].map(([name, text]) => `### ${name}\n\n\`\`\`ts\n${text}\n\`\`\``);
  const head =
    "# Events\n\nLog entries about the server's own life, and about changes that callers make (target `audit`), have a code in `fields.event`, in the log stream, in the memory of the log and in `json_log_file` alike; the terminal leaves most of them out. Programs read the code and the fields beside it; the message is a sentence for people and may change. The client package exports the codes and fields with their types (`serverEvents`, `ServerEvents`, `eventOf`).";
  return `${note}${head}\n\n| Code | Level | Fields | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n\n## Types\n\n${types.join("\n\n")}\n`;
}

function configPage(): string {
  const tables = sections.map(([table, keys]) => {
    const rows = Object.entries(keys).map(
      ([name, key]) => `| \`${name}\` | ${key.typeLabel} | ${defaultWords(key)} | ${cell(key.description)} |`,
    );
    return `## ${table === undefined ? "Top level" : `\`[${table}]\``}\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join("\n")}`;
  });
  const head =
    "# Configuration\n\nOne TOML file, `config.toml` unless `-c` names another. `node-server check` lists what is wrong with it: `config.toml:5:15: key: what is wrong; what to write`, with the line and the column of the value. Unknown keys are allowed and named in a warning, with the key that was probably intended; so are log filters that name a target under which nothing is logged. SIGHUP makes a running server read it again: everything that changed is applied, or nothing is. Relative paths start at the folder of this file, wherever the server is started. An [environment variable](#environment) can take the place of every key. [operate.md](operate.md) explains how to run a server.";
  return `${note}${head}\n\n${tables.join("\n\n")}\n\n${environmentPart()}\n\n## The file that a first start writes\n\n\`\`\`toml\n${defaultConfigText()}\`\`\`\n`;
}

/** Keys with their documentation, for the console's editor of the configuration. Values are as they are written in the file. */
function consoleKeys(): string {
  const written = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  const keys = settings.map(({ table, name, key }) => ({
    table,
    name,
    type: key.typeLabel,
    description: key.description,
    default: written(defaultOf(key)),
    isRequired: key.type.isOptional() ? undefined : true,
    choices: choicesOf(key).map(written),
    example: written(key.initial ?? key.example),
  }));
  return `${JSON.stringify(keys, null, 2)}\n`;
}

function environmentPart(): string {
  const keys = settings.map(
    (setting) => `| \`${variableOf(setting)}\` | \`${setting.path.join(".")}\` | ${setting.key.typeLabel} |`,
  );
  const others = Object.entries(otherVariables).map(([name, means]) => `| \`${name}\` | ${cell(means)} |`);
  return `## Environment

\`NODE_SERVER_<KEY>\` sets a key, whatever its table; those of \`[files]\` are \`NODE_SERVER_FILES_<KEY>\`. An option of the command line (\`serve --listen\`) wins over the environment, the environment over the file, the file over the default; a reload reads the file again and keeps what the other two set. \`node-server check\` and the start name the keys that do not come from the file, never their values. An empty variable is ignored.

Values are written without quotes: \`true\`, \`false\`, \`1\` or \`0\` for a boolean, digits for a number, items separated by commas for a list. A relative path starts at the folder of the configuration file. A variable that resembles a key is named in a warning.

| Variable | Key | Type |
|---|---|---|
${keys.join("\n")}

Other variables that the program reads:

| Variable | Meaning |
|---|---|
| \`RUST_LOG\` | Wins over \`log_filter\`, in the file and in the environment. |
| \`NODE_EXTRA_CA_CERTS\` | A file of certificates (PEM) that are trusted in addition, by the server and by client commands. |
${others.join("\n")}`;
}

function defaultWords(key: Key): string {
  const standard = defaultOf(key);
  if (standard !== undefined) return `\`${JSON.stringify(standard)}\``;
  return key.type.isOptional() ? "" : "required";
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(generatedDocs())) await Bun.write(path, text);
}

import { z } from "zod";
import { defaultOf, type Key } from "../src/base/config-key.ts";
import { faultKinds } from "../src/base/fault.ts";
import type { CommandRow } from "../src/cli/command.ts";
import { commands } from "../src/cli/program.ts";
import { needText } from "../src/cli/tokens/permissions.ts";
import { defaultConfigText } from "../src/config/default-config.ts";
import { otherVariables, variableOf } from "../src/config/environment.ts";
import { retiredKeys } from "../src/config/retired-keys.ts";
import { hookKeys, sections, settings } from "../src/config/schema.ts";
import { operations } from "../src/http/s3/s3.ts";
import { events } from "../src/log/events.ts";
import { methods } from "../src/methods/index.ts";
import { failuresOf, type NamedTypes, needWords, typeText } from "../src/rpc/discover.ts";
import { effects, type Method, type MethodTable } from "../src/rpc/method.ts";
import { endReasons } from "../src/rpc/session.ts";
import type { Services } from "../src/services.ts";
import { architecturePicture } from "./architecture.ts";
import { clientEvents, clientTypes } from "./client-types.ts";
import { wrapMarkdown } from "./documents.ts";

const note = "<!-- Printed by `npm run docs`; edit the declarations instead. -->\n";

/** generatedDocs returns the text of every page, picture and table that is printed from the declarations, by path. */
export async function generatedDocs(): Promise<Record<string, string>> {
  return {
    "docs/architecture.svg": await architecturePicture(),
    "docs/s3.md": withOperations(await Bun.file("docs/s3.md").text()),
    "docs/cli.md": withCommands(await Bun.file("docs/cli.md").text()),
    "docs/rpc.md": wrapMarkdown(rpcPage(methods)),
    "docs/errors.md": wrapMarkdown(errorsPage()),
    "docs/config.md": wrapMarkdown(configPage()),
    "docs/events.md": wrapMarkdown(eventsPage()),
    "src/client/methods.ts": clientTypes(),
    "src/client/events.ts": clientEvents(),
  };
}

/** withCommands replaces the tables of commands in a page. */
function withCommands(page: string): string {
  const groups = Map.groupBy(
    commands.filter(({ hidden }) => !hidden),
    ({ group }) => group ?? "",
  );
  const tables = [...groups].map(([group, rows]) => {
    const lines = rows.flatMap((row) => commandLines(row));
    const hasNeeds = lines.some(({ length }) => length > 2);
    const head = [group.replace(/:$/, ""), "", ...(hasNeeds ? ["Needs"] : [])];
    return [head, head.map(() => "---"), ...lines]
      .map((cells) => `| ${head.map((_, at) => cells[at] ?? "").join(" | ")} |`)
      .join("\n");
  });
  return withPrinted(page, tables.join("\n\n"));
}

/** withPrinted replaces the one part of a page that is printed. */
function withPrinted(page: string, text: string): string {
  return page.replace(
    /(<!-- Printed by `npm run docs`.*-->\n)[\s\S]*?(<!-- End of what is printed\. -->)/,
    (_, begin, end) => `${begin}\n${text}\n\n${end}`,
  );
}

/** withOperations replaces the table of what S3 can do, by the permissions that it needs. */
function withOperations(page: string): string {
  const groups = Map.groupBy(operations, ({ needs = [] }) =>
    needs.map((need) => `\`${need.replace("static_bucket_file.", "")}\``).join(", "),
  );
  const rows = [...groups].map(
    ([needs, some]) => `| ${needs || "any"} | ${some.map(({ name }) => name).join(", ")} |`,
  );
  return withPrinted(page, `| Permissions | Operations |\n|---|---|\n${rows.join("\n")}`);
}

/** commandLines returns the cells of a row for each command of a group, or for the command itself. */
function commandLines(
  { name, summary, run, needs, commands: below = [] }: CommandRow,
  above = "",
): string[][] {
  const sub = below.flatMap((row) => commandLines(row, `${above}${name} `));
  const permissions =
    needs === undefined ? [] : [needText(needs).replace(/^a token that can | in bucket BUCKET$/g, "")];
  return run === undefined
    ? sub
    : [[`\`${above}${name}\``, summary.replaceAll("|", "\\|"), ...permissions], ...sub];
}

const curlExample = `\`\`\`
$ curl -s http://127.0.0.1:2211/jsonrpc -H 'content-type: application/json' \\
    -d '{"jsonrpc":"2.0","method":"node-server_hello","id":1}'
{"jsonrpc":"2.0","result":"Node Server Is Running!","id":1}
\`\`\``;

function rpcPage(table: MethodTable<Services>): string {
  const named: NamedTypes = new Map();
  const parts = Object.entries(table).map(([name, method]) => methodPart(name, method, named));
  const types = [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `### ${name}\n\n\`\`\`ts\n${text.replaceAll("} | {", "}\n| {")}\n\`\`\``);
  const head = `# Methods

Call these methods with JSON-RPC 2.0 at \`/jsonrpc\`, by POST or over WebSocket. \`/node/rpc\` and \`/\`
answer the same, for clients that expect JSON-RPC there.

- Params are named, or positional in the order of the tables. Unknown members are ignored.
- Every method can also fail with \`Internal\`. [errors.md](errors.md) lists all errors with their
  numbers.
- \`node-server call METHOD --help\` shows a method on a terminal, with a curl line.

\`rpc.discover\` returns the same as an OpenRPC document. There, kinds of errors with the same number
are one entry. The document has fields of its own:

| Field | Meaning |
|---|---|
| \`x-authorization\` | what a caller must hold; one entry of the list is enough. \`param\` is the param with the name of the scope |
| \`x-need\` | the same in words |
| \`x-effect\` | one of the effects below |
| \`x-warning\` | a sentence to read before the call |
| \`x-event\` | the schema of a subscription's events |
| \`x-credential\` | marks the param with the caller's token |
| \`writeOnly\` | in a schema, marks a secret |`;
  const effectRows = Object.entries(effects).map(([effect, means]) => `| \`${effect}\` | ${means} |`);
  const next =
    "Next: [errors.md](errors.md) for all errors, and the [client for JavaScript](../src/client/README.md).";
  const about = `| Effect | The call |\n|---|---|\n${effectRows.join("\n")}`;
  return `${note}${head}\n\n${curlExample}\n\n${about}\n\n${parts.join("\n\n")}\n\n${subscriptionsPart()}\n\n## Types\n\n${types.join("\n\n")}\n\n${next}\n`;
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

A subscription belongs to the WebSocket that created it. Its notifications have the name of its
method. Their \`params\` have the id as \`subscription\`, and one of three members:

- \`result\`: an event.
- \`dropped\`: the number of events that were dropped here, because the reader is too slow.
- \`end\`: the server ends the subscription, and nothing follows. The server sends no \`end\` if the
  client itself unsubscribes or closes the connection.

\`\`\`json
${example({ dropped: 12 })}
${example({ end: { reason: "token_invalid" } })}
\`\`\`

| \`end.reason\` | Meaning |
|---|---|
${rows.join("\n")}

A log stream also has an entry for people in both cases: WARN on \`server\` with \`fields.event\`
\`log.dropped\` after \`dropped\`, and \`log.ended\` before the \`end\` of a stream whose token is no
longer valid.`;
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
          `Each event, as \`params.result\` of a notification \`${name}\`: \`${typeText(method.event, "output", named)}\`. Other notifications report [dropped events and the end of the stream](#subscriptions).`,
        ]),
    errors.length === 0
      ? "Errors: only `Internal`."
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
  const head = `# Errors

Use this page to handle errors of JSON-RPC in a program. Every error object has a \`code\`, a
\`message\` and \`data\`.

- \`message\` is a title and a sentence for people (\`…\` below), which may change.
- \`data.kind\` is the kind of the error, and \`data.detail\` is the sentence without its title.
- Other fields of \`data\` help a program: \`field\`, \`line\`, \`column\`, \`path\`, \`limit\`, \`reason\`, ….`;
  const about = `## Reasons

\`data.reason\` says which case it was. Every \`PermissionDenied\` has a reason, even if a method for the
Super Token answers all other tokens with the same message. An unknown name and a wrong secret have
the same reason. The other reasons are told only to callers with the right credentials.`;
  return `${note}${head}\n\n| Code | Kind | Message | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n\n${about}\n\n| Kind | \`data.reason\` | Meaning |\n|---|---|---|\n${reasons.join("\n")}\n\nNext: [rpc.md](rpc.md) has the errors of each method.\n`;
}

function eventsPage(): string {
  const named: NamedTypes = new Map();
  const rows = Object.entries(events).map(([code, { level, description, fields }]) => {
    const isEmpty = Object.keys(fields.shape).length === 0;
    const type = isEmpty ? "" : `\`${cell(typeText(fields, "output", named))}\``;
    return `| \`${code}\` | ${level} | ${type} | ${cell(description)} |`;
  });
  const types = [...named].map(([name, text]) => `### ${name}\n\n\`\`\`ts\n${text}\n\`\`\``);
  const head = `# Events

Use the codes of this page to watch the server's log from a program. Log entries about the server
itself have a code in \`fields.event\`, and so have entries about changes that callers make (target
\`audit\`).

- The code is in the log stream, in the memory of the log and in \`json_log_file\`. The terminal hides
  most codes.
- Read the code and the fields beside it. The message is a sentence for people and may change.
- The client package exports the codes and fields with their types (\`serverEvents\`, \`ServerEvents\`,
  \`eventOf\`).`;
  return `${note}${head}\n\n| Code | Level | Fields | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n\n## Types\n\n${types.join("\n\n")}\n\nNext: [operate.md](operate.md) says where the log goes and what to watch.\n`;
}

function configPage(): string {
  const documented = [...sections, ["[hooks]", hookKeys] as const];
  const tables = documented.map(([table, keys]) => {
    const rows = Object.entries(keys).map(
      ([name, key]) => `| \`${name}\` | ${key.typeLabel} | ${defaultWords(key)} | ${cell(key.description)} |`,
    );
    return `## ${table === undefined ? "Top level" : `\`[${table}]\``}\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join("\n")}`;
  });
  const head = `# Configuration

All settings of a server are in one TOML file: \`config.toml\`, or the file that \`-c\` names.
[operate.md](operate.md) explains how to run a server.

- \`node-server check\` lists what is wrong with the file, with the line and column of the value:
  \`config.toml:5:15: key: what is wrong; what to write\`.
- SIGHUP makes a running server read the file again. It applies all changes or none.
- Unknown keys are allowed. A warning names them, with the key that was probably intended. A log
  filter for a target that does not exist also gets a warning.
- Relative paths start at the folder of this file, wherever the server is started.
- An [environment variable](#environment) can override every key.`;
  return `${note}${head}\n\n${tables.join("\n\n")}\n\n${retiredPart()}\n\n${environmentPart()}\n\n## The file that a first start writes\n\n\`\`\`toml\n${defaultConfigText()}\`\`\`\n\nNext: [operate.md](operate.md) for running a server, [storage.md](storage.md) for the stores of\nfiles.\n`;
}

function retiredPart(): string {
  const rows = retiredKeys.map(({ path, advice }) => `| \`${path.join(".")}\` | ${cell(advice)} |`);
  return `## Retired keys

These keys of earlier versions are still read, and each gets a warning. The next minor version reads
them, too; later ones do not.

| Key | What to do |\n|---|---|\n${rows.join("\n")}`;
}

function environmentPart(): string {
  const keys = settings.map(
    (setting) => `| \`${variableOf(setting)}\` | \`${setting.path.join(".")}\` | ${setting.key.typeLabel} |`,
  );
  const others = Object.entries(otherVariables).map(([name, means]) => `| \`${name}\` | ${cell(means)} |`);
  return `## Environment

\`NODE_SERVER_<KEY>\` sets a key of any table, except that keys of \`[files]\` are
\`NODE_SERVER_FILES_<KEY>\`, those of \`[tls]\` \`NODE_SERVER_TLS_<KEY>\` and those of \`[s3]\`
\`NODE_SERVER_S3_<KEY>\`. The order is: an option of the command line (\`serve --listen\`), the
environment, the file, the default. A reload reads only the file again. \`node-server check\` and the
start name the keys that do not come from the file, but not their values.

Write values without quotes: \`true\`, \`false\`, \`1\` or \`0\` for a boolean, digits for a number, items
separated by commas for a list. Relative paths start at the folder of the configuration file. Empty
variables are ignored, and a variable that resembles a key gets a warning.

| Variable | Key | Type |
|---|---|---|
${keys.join("\n")}

Other variables that the program reads:

| Variable | Meaning |
|---|---|
| \`RUST_LOG\` | Overrides \`log_filter\` in the file and in the environment. |
| \`NODE_EXTRA_CA_CERTS\` | A file of certificates (PEM) that the server and client commands trust in addition. |
${others.join("\n")}`;
}

function defaultWords(key: Key): string {
  const standard = defaultOf(key);
  if (standard !== undefined) return `\`${JSON.stringify(standard)}\``;
  return key.type.isOptional() ? "" : "required";
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedDocs())) await Bun.write(path, text);
}

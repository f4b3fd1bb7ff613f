import { z } from "zod";
import { faultKinds } from "../src/base/fault.ts";
import { defaultConfigText } from "../src/config/file.ts";
import { defaultOf, type Key, sections } from "../src/config/schema.ts";
import { methods } from "../src/methods/index.ts";
import { needWords } from "../src/rpc/discover.ts";
import type { MethodTable } from "../src/rpc/method.ts";
import type { Services } from "../src/services.ts";

const note = "<!-- Printed by `npm run docs`; edit the declarations instead. -->\n";

/** Path → text of every page that is printed from the tables. */
export function generatedDocs(): Record<string, string> {
  return { "docs/rpc.md": rpcPage(methods), "docs/errors.md": errorsPage(), "docs/config.md": configPage() };
}

function rpcPage(table: MethodTable<Services>): string {
  const parts = Object.entries(table).map(([name, method]) => {
    const params = Object.entries(method.accepts.shape).map(([param, type]) => {
      const optional = z.safeParse(type, undefined).success;
      const { description = "" } = z.globalRegistry.get(type) ?? {};
      return `| \`${param}\` | ${typeWords(type, "input")} | ${optional ? "no" : "yes"} | ${cell(description)} |`;
    });
    return [
      `## \`${name}\``,
      `${method.replacedBy === undefined ? "" : `**Deprecated**: use \`${method.replacedBy}\`. `}${method.doc}`,
      `Needs: ${needWords(method)}.`,
      params.length === 0
        ? "No params."
        : `| Param | Type | Required | |\n|---|---|---|---|\n${params.join("\n")}`,
      `Result: ${typeWords(method.result, "output")}`,
      ...(method.event === undefined ? [] : [`Each event: ${typeWords(method.event, "output")}`]),
    ].join("\n\n");
  });
  const head =
    "# Methods\n\nJSON-RPC 2.0 at `/jsonrpc`, by POST and over WebSocket. Params are named, or positional in the order of the tables. `rpc.discover` answers the same as an OpenRPC document.";
  return `${note}${head}\n\n${parts.join("\n\n")}\n`;
}

/** A type as JSON Schema, short ones by their name. */
function typeWords(type: z.core.$ZodType, io: "input" | "output"): string {
  const { $schema: _, description: __, ...schema } = z.toJSONSchema(type, { io, unrepresentable: "any" });
  const keys = Object.keys(schema);
  if (keys.length === 1 && typeof schema.type === "string") return schema.type;
  return `\`${cell(JSON.stringify(schema))}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function errorsPage(): string {
  const rows = Object.entries(faultKinds).map(
    ([kind, { code, words, means }]) => `| ${code} | \`${kind}\` | \`${words}: …\` | ${cell(means)} |`,
  );
  const head =
    "# Errors\n\nEvery error object has a `code`, a `message` that begins with the words below, and `data` with the `kind` and whatever helps a program (`field`, `line`, `column`, `path`, `limit`, …).";
  return `${note}${head}\n\n| Code | Kind | Message | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

function configPage(): string {
  const tables = sections.map(([table, keys]) => {
    const rows = Object.entries(keys).map(
      ([name, key]) => `| \`${name}\` | ${key.shown} | ${defaultWords(key)} | ${cell(key.means)} |`,
    );
    return `## ${table === undefined ? "Top level" : `\`[${table}]\``}\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join("\n")}`;
  });
  const head =
    "# Configuration\n\nOne TOML file, `config.toml` unless `-c` names another. `node-server check` says what is wrong with one, with line and column; unknown keys are allowed and named in a warning. SIGHUP makes a running server read it again: everything that changed is applied, or nothing is. Relative paths count from the working directory.";
  return `${note}${head}\n\n${tables.join("\n\n")}\n\n## The file that a first start writes\n\n\`\`\`toml\n${defaultConfigText()}\`\`\`\n`;
}

function defaultWords(key: Key): string {
  const standard = defaultOf(key);
  if (standard !== undefined) return `\`${JSON.stringify(standard)}\``;
  return key.type.isOptional() ? "" : "required";
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(generatedDocs())) await Bun.write(path, text);
}

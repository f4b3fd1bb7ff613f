import { z } from "zod";
import { keyAndSecret, keyPattern } from "../src/auth/credentials.ts";
import { otherFamilies, ownFamilies } from "../src/auth/permission.ts";
import { hostForm } from "../src/base/address.ts";
import { faultKinds } from "../src/base/fault.ts";
import { invisible } from "../src/base/visible-text.ts";
import { previewNameForm } from "../src/buckets/history/deploy-record.ts";
import { nameForm } from "../src/buckets/record.ts";
import { events } from "../src/log/events.ts";
import { auditTarget, contractTargets, dbTargets } from "../src/log/filter.ts";
import { methods } from "../src/methods/index.ts";
import { maxPathsBytes } from "../src/methods/links.ts";
import { type NamedTypes, requirementsOf, typeText } from "../src/rpc/discover.ts";
import { credentialParam, type MethodTable } from "../src/rpc/method.ts";
import { endReasons } from "../src/rpc/session.ts";
import type { Services } from "../src/services.ts";
import { tagPattern } from "../src/update/release.ts";

/** `src/client/methods.ts`: what the client knows of the server, as types that need nothing else. */
export function clientTypes(): string {
  const table: MethodTable<Services> = methods;
  const named: NamedTypes = new Map();
  const rows = Object.entries(table).map(([name, method]) => {
    const credential = credentialParam(method);
    const params = Object.entries(method.accepts.shape).map(([param, type]) => {
      const optional = param === credential || z.safeParse(type, undefined).success;
      return `${param}${optional ? "?" : ""}: ${toTypeScript(typeText(type, "input", named))}${optional ? " | undefined" : ""}`;
    });
    const event =
      method.event === undefined
        ? ""
        : ` readonly event: ${toTypeScript(typeText(method.event, "output", named))};`;
    const shape = params.length === 0 ? "Record<never, never>" : `{ ${params.join("; ")} }`;
    return `  /** ${method.doc} */\n  ${JSON.stringify(name)}: { readonly params: ${shape}; readonly result: ${toTypeScript(typeText(method.result, "output", named))};${event} };`;
  });
  const types = [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `export type ${name} = ${toTypeScript(text)};`);
  const credentials = Object.entries(table).flatMap(([name, method]) => {
    const credential = credentialParam(method);
    return credential === undefined ? [] : [`  ${JSON.stringify(name)}: ${JSON.stringify(credential)},`];
  });
  const requirements = Object.entries(table).map(
    ([name, method]) =>
      `  ${JSON.stringify(name)}: [\n${requirementsOf(method)
        .map((one) => `    ${JSON.stringify(one)},\n`)
        .join("")}  ],`,
  );
  const families = [...ownFamilies].map(([family, actions]) => `  ${family}: ${JSON.stringify(actions)},`);
  const kinds = Object.entries(faultKinds).map(([kind, { code }]) => `  ${kind}: ${code},`);
  const bounds = Object.entries(boundRows).map(
    ([name, bound]) => `  ${name}: ${typeof bound === "number" ? bound : boundOf(...bound)},`,
  );
  const patterns = Object.entries({
    tokenKey: keyPattern,
    wholeToken: keyAndSecret,
    invisible,
    releaseTag: tagPattern,
    bucketName: nameForm,
    hostName: hostForm,
    previewName: previewNameForm,
  }).map(([name, pattern]) => `  ${name}: ${pattern},`);
  return `// Printed by \`npm run docs\` from the declarations; edit those instead.

${types.join("\n\n")}

/** Every method of the server: what it takes and what it answers. */
export interface Methods {
${rows.join("\n")}
}

/** The param that holds the caller's token, which the client fills in. */
export const credentialParams: Readonly<Record<string, string>> = {
${credentials.join("\n")}
};

/** What the caller of a method must hold; one entry of its list is enough. */
export const requirements: { readonly [M in keyof Methods]: readonly Requirement[] } = {
${requirements.join("\n")}
};

/** The families of permissions that this server uses, with the actions of each. */
export const permissionFamilies = {
${families.join("\n")}
} as const;

/** Families of the wider system. Tokens may have them, but this server does not use them. */
export const otherPermissionFamilies = ${JSON.stringify(otherFamilies)} as const;

/** The largest values that the server takes, or the smallest. Lengths are in characters. */
export const bounds = {
${bounds.join("\n")}
} as const;

/** Forms of names. A host name is in lower case. An \`invisible\` character may not be in a name of a token or a user. */
export const patterns = {
${patterns.join("\n")}
} as const;

/** Targets of the log. \`db\` stands for those of libraries. */
export const logTargets = ${JSON.stringify([...contractTargets, auditTarget])} as const;
export const libraryTargets = ${JSON.stringify(dbTargets)} as const;

/** Every kind of error, with its number. */
export const errorKinds = {
${kinds.join("\n")}
} as const;

/** Why a call was refused: \`data.reason\` of every \`PermissionDenied\`. */
export const denialReasons = ${JSON.stringify(Object.keys(faultKinds.PermissionDenied.reasons))} as const;
export type DenialReason = (typeof denialReasons)[number];

/** Why the server ends a subscription: \`params.end.reason\` of its last notification. */
export const endReasons = ${JSON.stringify(Object.keys(endReasons))} as const;
export type EndReason = (typeof endReasons)[number];
`;
}

type Keyword = "minimum" | "maximum" | "minLength" | "maxLength" | "maxItems";

/** Bounds by the names that the client gives them: a number, or the method whose param has it, the path of the param, and the keyword. */
const boundRows: Readonly<
  Record<string, number | readonly [method: keyof typeof methods, path: string, keyword: Keyword]>
> = {
  minPasswordLength: ["token_change_password", "new_password", "minLength"],
  maxPasswordLength: ["token_change_password", "new_password", "maxLength"],
  maxTokenNameLength: ["token_create", "token_creation.name", "maxLength"],
  maxUsernameLength: ["token_create", "token_creation.username", "maxLength"],
  maxLinkSeconds: ["static-bucket-file_link", "expires_in", "maximum"],
  maxLinkPaths: ["static-bucket-file_link", "paths", "maxItems"],
  maxLinkPathsBytes: maxPathsBytes,
  maxManyPaths: ["static-bucket-file_delete_many", "paths", "maxItems"],
  maxVersions: ["static-bucket-file_history", "limit", "maximum"],
};

/** The JSON Schema of a param, as far as it is looked at here. */
interface ParamSchema extends Partial<Record<Keyword, number>> {
  readonly properties?: Readonly<Record<string, ParamSchema>>;
  readonly anyOf?: readonly ParamSchema[];
}

function boundOf(method: keyof typeof methods, path: string, keyword: Keyword): number {
  let schema = z.toJSONSchema(methods[method].accepts, {
    io: "input",
    unrepresentable: "any",
  }) as ParamSchema;
  // A param that may be null is one of two.
  const plain = ({ anyOf: [first] = [], ...own }: ParamSchema) => first ?? own;
  for (const name of path.split(".")) schema = plain(schema.properties?.[name] ?? {});
  const bound = schema[keyword];
  if (bound === undefined) throw new Error(`${method} has no ${keyword} for ${path}`);
  return bound;
}

/** `src/client/events.ts`: the events of the server's own life and their fields. */
export function clientEvents(): string {
  const named: NamedTypes = new Map();
  const rows = Object.entries(events).map(([code, { description, fields }]) => {
    const isEmpty = Object.keys(fields.shape).length === 0;
    const type = isEmpty ? "Record<never, never>" : toTypeScript(typeText(fields, "output", named));
    return `  /** ${description} */\n  ${JSON.stringify(code)}: ${type};`;
  });
  const types = [...named].map(([name, text]) => typeDeclaration(name, toTypeScript(text)));
  const levels = Object.entries(events).map(
    ([code, { level }]) => `  ${JSON.stringify(code)}: ${JSON.stringify(level)},`,
  );
  return `// Printed by \`npm run docs\` from \`src/log/events.ts\`; edit that instead.

${types.join("\n\n")}

/** Every event of the server's own life, and every change that callers make, with the fields that its log entry has beside \`event\`. */
export interface ServerEvents {
${rows.join("\n")}
}

/** The code of every event, with the level of its log entry. */
export const serverEvents = {
${levels.join("\n")}
} as const;
`;
}

/** A declaration as the formatter writes it: an object that does not fit its line has one member a line. */
function typeDeclaration(name: string, type: string): string {
  const line = `export type ${name} = ${type};`;
  if (line.length <= maxLineChars) return line;
  return line.replace("{ ", "{\n  ").replaceAll("; ", ";\n  ").replace(/ \};$/, ";\n};");
}

const maxLineChars = 110;

/** The documents' way of writing types, made exact. */
function toTypeScript(text: string): string {
  return text
    .replace(/\binteger\b/g, "number")
    .replace(/\bany\b/g, "unknown")
    .replaceAll("{ [name]:", "{ [name: string]:");
}

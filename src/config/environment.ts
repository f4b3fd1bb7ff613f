import { z } from "zod";
import { innerType } from "../base/config-key.ts";
import { Fault } from "../base/fault.ts";
import { nearest } from "../base/validation-issue.ts";
import { blobKinds } from "../blobs/open-blobs.ts";
import { type Filter, parseFilter } from "../log/filter.ts";
import { explainTargets, type Override, type Warning } from "./problem.ts";
import { retiredKeys } from "./retired-keys.ts";
import { type Config, type Setting, settings } from "./schema.ts";

const prefix = "NODE_SERVER_";

/** `otherVariables` are the variables that are not keys, with their meaning for the docs. */
export const otherVariables: Readonly<Record<string, string>> = {
  NODE_SERVER_SUPER_TOKEN:
    "`<key>:<secret>` for the Super Token that `init` or the first start creates, so that neither prints a new one. `update` authenticates with it.",
  NODE_SERVER_URL: "The address of the server that client commands talk to.",
  NODE_SERVER_TOKEN: "The token that client commands and `update` authenticate with.",
  NODE_SERVER_NEW_PASSWORD: "The password for `tokens create --password`.",
  ...Object.fromEntries(
    blobKinds.flatMap(({ scheme, variables = {} }) =>
      Object.entries(variables).map(([variable, name]) => [
        variable,
        `The default of \`files.${name}\` if \`files.url\` begins with \`${scheme}:\`.`,
      ]),
    ),
  ),
};

/** Variables that the program sets for its own child processes, and that its tests use. */
const internalVariables = [
  "NODE_SERVER_BINARY",
  "NODE_SERVER_CHANNEL",
  "NODE_SERVER_DATABASE_FILE",
  "NODE_SERVER_PARENT",
  "NODE_SERVER_PROCESS",
  "NODE_SERVER_SMOKE_TEST",
];

type Environment = Readonly<Record<string, string | undefined>>;

/** Overrides are the settings that do not come from the file. A reload reads the file again and keeps them. */
export interface Overrides {
  readonly values: readonly Override[];
  /** Values for keys of blob stores that neither the file nor `values` set. They have an effect if `files.url` names such a store. */
  readonly fallbacks: readonly Override[];
  /** Whether `RUST_LOG` takes the place of `logging.log_filter`, if there is one. */
  readonly hasRustLog: boolean;
  /** Variables that look like a mistyped key, and a `RUST_LOG` that has no effect. */
  readonly warnings: readonly Warning[];
}

export const noOverrides: Overrides = { values: [], fallbacks: [], hasRustLog: false, warnings: [] };

/**
 * `variableOf` returns the environment variable that sets a key. Of tables, only `[files]`, `[tls]` and `[s3]` are part of it: the names
 * of all other keys are unique.
 */
export function variableOf({ path }: Pick<Setting, "path">): string {
  const [table = ""] = path;
  const isInTable = ["files", "tls", "s3"].includes(table);
  return prefix + (isInTable ? path.join("_") : (path.at(-1) ?? "")).toUpperCase();
}

/**
 * `readOverrides` reads the settings in the environment; throws for a `RUST_LOG` that is not a filter. `listen`, from the command
 * line, overrides `ws_listener` there.
 */
export function readOverrides(
  env: Environment,
  { listen }: { readonly listen?: string | undefined } = {},
): Overrides {
  const keys = [...settings.map(({ path, key: { type } }) => ({ path, type })), ...retiredKeys];
  const values = keys.flatMap(({ path, type }): Override[] => {
    if (path[0] === "ws_listener" && listen !== undefined) return [{ path, from: "--listen", value: listen }];
    const from = variableOf({ path });
    const text = env[from];
    // Compose files and scripts pass on an unset variable as an empty one.
    if (text === undefined || text === "") return [];
    return [{ path, from, value: toValue(text, type) }];
  });
  const fallbacks = blobKinds
    .flatMap(({ variables = {} }) => Object.entries(variables))
    .flatMap(([from, name]): Override[] =>
      env[from] ? [{ path: ["files", name], from, value: env[from] }] : [],
    );
  const warnings = [...unknownVariables(Object.keys(env)), ...unknownTargets(env)];
  return { values, fallbacks, hasRustLog: Boolean(env.RUST_LOG), warnings };
}

/** `sourceOf` returns what an operator changes to change a key: the variable or option that sets it, else the key itself. */
export function sourceOf({ values }: Overrides, key: string): string {
  return values.find(({ path }) => path.join(".") === key)?.from ?? key;
}

/** OverriddenKey is a key whose value is not that of the file, and the variable or option that it comes from. */
export interface OverriddenKey {
  readonly key: string;
  readonly from: string;
}

/**
 * `overriddenKeys` lists them for people; `values` are those in effect. `RUST_LOG` is one of them if there is a `log_filter` that
 * it overrides.
 */
export function overriddenKeys(
  values: readonly Override[],
  { logging }: Config,
  { RUST_LOG }: Environment,
): OverriddenKey[] {
  const keys = values.map(({ path, from }) => ({ key: path.join("."), from }));
  if (!RUST_LOG || logging.log_filter === undefined) return keys;
  const filterKey = "logging.log_filter";
  return [...keys.filter(({ key }) => key !== filterKey), { key: filterKey, from: "RUST_LOG" }];
}

/** `toValue` reads a text as the type of a key requires. A text that is no such value is left as it is, for the schema to refuse. */
function toValue(text: string, type: z.ZodType): unknown {
  const inner = innerType(type);
  if (inner instanceof z.ZodNumber) return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
  if (inner instanceof z.ZodBoolean) return booleans.get(text.trim().toLowerCase()) ?? text;
  if (inner instanceof z.ZodArray)
    return text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  return text;
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

function parseRustLog(text: string): Filter {
  try {
    return parseFilter(text);
  } catch (error) {
    throw error instanceof Fault ? new Fault(error.kind, `RUST_LOG: ${error.detail}`, error.data) : error;
  }
}

function unknownTargets({ RUST_LOG }: Environment): Warning[] {
  const why = RUST_LOG ? explainTargets(parseRustLog(RUST_LOG)) : undefined;
  return why === undefined ? [] : [{ field: "RUST_LOG", from: "RUST_LOG", why, about: "filter" }];
}

/** Kubernetes sets `NODE_SERVER_SERVICE_HOST`, `NODE_SERVER_PORT` and the like for a service of this name. */
const kubernetes = /^NODE_SERVER_(SERVICE_|PORT(_\d|$))/;

/** `unknownVariables` warns of variables that are close to a key. Others with the prefix are not ours. */
function unknownVariables(names: readonly string[]): Warning[] {
  const variables = settings.map(variableOf);
  const retired = retiredKeys.map(variableOf);
  const known = new Set([...variables, ...retired, ...Object.keys(otherVariables), ...internalVariables]);
  return names
    .filter((name) => name.startsWith(prefix) && !known.has(name) && !kubernetes.test(name))
    .flatMap((name): Warning[] => {
      const [near] = nearest(
        name.slice(prefix.length),
        variables.map((variable) => variable.slice(prefix.length).toLowerCase()),
        1,
      );
      if (near === undefined) return [];
      const why = `is unknown and has no effect; did you mean ${prefix}${near.toUpperCase()}?`;
      return [{ field: name, from: name, why, about: "key" }];
    });
}

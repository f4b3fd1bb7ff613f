import { z } from "zod";
import { superToken } from "../auth/need.ts";
import { method } from "./declare.ts";

const configWarning = z
  .object({ field: z.string(), why: z.string(), line: z.int().optional(), column: z.int().optional() })
  .meta({ id: "ConfigWarning" });

const configKey = z
  .object({
    table: z.string().optional().describe("undefined for keys above the first table"),
    name: z.string(),
    type: z.string(),
    description: z.string(),
    is_required: z.boolean(),
    default: z.string().optional(),
    choices: z.array(z.string()).readonly().describe("all values, if they are few"),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    example: z.string().optional(),
  })
  .meta({ id: "ConfigKey" });

/** `nodeConfig` are the methods of the `node-server` namespace about the configuration file. */
export const nodeConfig = {
  "node-server_read_config": method({
    doc: "Returns the configuration file as it is on disk.",
    need: superToken,
    secretResult: true,
    effect: "reads",
    params: {},
    result: z.string(),
    fails: ["ConfigNotFound", "InvalidInput", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: 'ws_listener = "127.0.0.1:2211"\n…' },
    run: ({ configFile }) => configFile.read(),
  }),
  "node-server_config_schema": method({
    doc: "Returns the keys of the configuration: their types, bounds, defaults and meanings. Values are as they are written in the file. A reload applies every key; none needs a restart.",
    need: superToken,
    effect: "reads",
    params: {},
    result: z.array(configKey).readonly(),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: [
        {
          name: "drain_seconds",
          type: "seconds",
          description: "How long the server keeps serving before it stops or restarts…",
          is_required: false,
          default: "0",
          choices: [],
          minimum: 0,
          maximum: 3600,
        },
      ],
    },
    run: ({ configFile }) => configFile.keys,
  }),
  "node-server_check_config": method({
    doc: "Checks a complete configuration, with the same errors as `node-server_edit_config`, and writes nothing. `data.problems` of an error lists every mistake with its key, line and column. `warnings` lists valid settings that are probably not intended.",
    need: superToken,
    effect: "reads",
    params: { config_string: z.string().describe("the complete TOML text") },
    result: z.object({ valid: z.literal(true), warnings: z.array(configWarning) }),
    fails: ["ParseError"],
    example: {
      params: { token: "<SUPER_TOKEN>", config_string: 'statc_path = "x"\n<CONFIG>' },
      result: {
        valid: true,
        warnings: [
          {
            field: "statc_path",
            why: "is unknown and has no effect; did you mean static_path?",
            line: 1,
            column: 1,
          },
        ],
      },
    },
    run: ({ configFile }, { config_string }) => ({
      valid: true as const,
      warnings: configFile
        .check(config_string)
        .map(({ field, why, line, column }) => ({ field, why, line, column })),
    }),
  }),
  "node-server_edit_config": method({
    doc: "Checks a complete configuration, writes it to the file, and applies it after the answer has been sent. A key that an environment variable or an option of the command line sets keeps that value. If the server cannot apply the configuration, it continues as before and logs the reason.",
    need: superToken,
    effect: "destroys",
    warning: "This replaces the whole configuration of the server.",
    params: { config_string: z.string().describe("the complete TOML text") },
    result: z.literal(true),
    fails: ["ParseError", "ConfigNotFound", "InvalidInput", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>", config_string: "<CONFIG>" }, result: true },
    run: async ({ configFile, reload, afterReply, audit }, { config_string }) => {
      await configFile.write(config_string);
      audit("config.edited", {});
      afterReply(async () => void (await reload()));
      return true as const;
    },
  }),
};

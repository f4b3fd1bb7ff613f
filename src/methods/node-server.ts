import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anyone, anyToken, anywhere, globally, owner, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/raw-json.ts";
import { build } from "../build.ts";
import { levels } from "../log/entry.ts";
import { parseFilter } from "../log/filter.ts";
import { openTail, tailNotice } from "../log/tail.ts";
import { parseTag } from "../update/release.ts";
import { method, subscription } from "./declare.ts";

const versionRecord = z
  .object({
    binary_type: z.string(),
    build_time: z.string(),
    cargo_target_triple: z.string(),
    cargo_version: z.string(),
    git_branch: z.string(),
    git_commit_date: z.string(),
    git_commit_message: z.string(),
    git_commit_sha: z.string(),
    rustc_channel: z.string(),
    rustc_commit_date: z.string(),
    rustc_commit_hash: z.string(),
    rustc_llvm_version: z.string(),
    rustc_version: z.string(),
  })
  .meta({ id: "VersionRecord" });

const logEntry = z
  .object({
    timestamp: z.string(),
    level: z.enum(levels),
    target: z.string(),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()),
    spans: z.array(z.object({ name: z.string(), fields: z.string() })).readonly(),
  })
  .meta({ id: "LogEntry" });

const configWarning = z
  .object({ field: z.string(), why: z.string(), line: z.int().optional(), column: z.int().optional() })
  .meta({ id: "ConfigWarning" });

const filterWords =
  "as `RUST_LOG`: `info`, `debug,db=trace`, `token`, `off`; `data.column` of a refusal is the place in it";

const logFilter = z
  .string()
  .transform((text, context) => {
    try {
      return parseFilter(text);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { column } = error.data;
      context.addIssue({ code: "custom", message: `is not readable: ${error.detail}`, params: { column } });
      return z.NEVER;
    }
  })
  .describe(filterWords);

/** A client has its answer, and time to prepare, before the server is away for a moment. */
const restartDelayMs = 3000;

export const nodeServer = {
  "node-server_hello": method({
    doc: "Answers a fixed text: the server runs.",
    need: anyone,
    params: {},
    result: z.literal("Node Server Is Running!"),
    example: { params: {}, result: "Node Server Is Running!" },
    run: () => "Node Server Is Running!" as const,
  }),
  "node-server_version": method({
    doc: "Tells what was built, when, and from which commit.",
    need: anyone,
    params: {},
    result: versionRecord,
    example: {
      params: {},
      result: {
        binary_type: "node-server",
        build_time: "2026-11-15T02:53:23.055Z",
        cargo_target_triple: "x86_64-unknown-linux-gnu",
        cargo_version: "0.2.0",
        git_branch: "main",
        git_commit_date: "2026-11-15T02:50:00+00:00",
        git_commit_message: "docs: a newcomer's first five minutes",
        git_commit_sha: "38afee6c84fcf48c0edb2466aa4b27d287a59c30",
        rustc_channel: "bun",
        rustc_commit_date: "unknown",
        rustc_commit_hash: "38afee6c84fcf48c0edb2466aa4b27d287a59c30",
        rustc_llvm_version: "d6375c72affe0f70222cdcb45012b10f0bf3a9d5",
        rustc_version: "1.4.4",
      },
    },
    run: () => build,
  }),
  "node-server_uuid": method({
    doc: "Tells the server's identity, set by `server_uuid` in the configuration.",
    need: anyone,
    params: {},
    result: z.uuid(),
    example: { params: {}, result: "65d0b837-40a7-49e0-89e1-bba14a18b59f" },
    run: ({ serverUuid }) => serverUuid,
  }),
  "node-server_uptime": method({
    doc: "Tells for how many milliseconds the server has been running; a self-update begins anew.",
    need: anyToken,
    params: {},
    result: z.int(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: 93784005 },
    run: ({ uptimeMs }) => uptimeMs(),
  }),
  "node-server_list_all_agent_uuid": method({
    doc: "Lists the agents that the token may see, sorted.",
    need: anywhere(...listPermissions),
    params: {},
    result: z.object({ uuids: z.array(z.string()) }),
    replacedBy: "agent-uuid_list_all",
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { uuids: ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"] },
    },
    run: async ({ agents, caller }) => ({ uuids: await agents.visibleTo(caller) }),
  }),
  "node-server_read_config": method({
    doc: "Reads the configuration file, as it is on the disk.",
    need: superToken,
    params: {},
    result: z.string(),
    fails: ["ConfigNotFound", "InvalidInput", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: 'ws_listener = "127.0.0.1:2211"\n…' },
    run: ({ configFile }) => configFile.read(),
  }),
  "node-server_check_config": method({
    doc: "Checks a whole configuration as `node-server_edit_config` does before it writes, with the same errors, and writes nothing. `data.problems` of an error lists every mistake with its key, line and column; `warnings` lists what is valid and probably not meant.",
    need: superToken,
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
    doc: "Checks a whole configuration, writes it, and applies it once the answer has left. What cannot be applied leaves the server as it was and is told in the log.",
    need: superToken,
    params: { config_string: z.string().describe("the complete TOML text") },
    result: z.literal(true),
    fails: ["ParseError", "ConfigNotFound", "InvalidInput", "IoError"],
    example: { params: { token: "<SUPER_TOKEN>", config_string: "<CONFIG>" }, result: true },
    run: async ({ configFile, reload, afterReply }, { config_string }) => {
      await configFile.write(config_string);
      afterReply(async () => void (await reload()));
      return true as const;
    },
  }),
  "node-server_log": method({
    doc: "Shows the log entries kept in memory, oldest first; with a filter those that it lets through.",
    need: superToken,
    params: { log_filter: logFilter.nullish().describe(filterWords) },
    result: z.array(logEntry),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: [
        {
          timestamp: "2026-11-15T02:51:41.291+00:00",
          level: "INFO",
          target: "server",
          message: "listening on http://127.0.0.1:2211",
          fields: {},
          spans: [],
        },
      ],
    },
    run: ({ ring }, { log_filter }) => {
      const entries = ring.entries();
      return log_filter == null ? entries : entries.filter((entry) => log_filter.passes(entry));
    },
  }),
  "node-server_stream_log": subscription({
    doc: "Sends every new log entry that the filter lets through, until unsubscribed. A reader that falls 512 entries behind is told how many it missed.",
    need: superToken,
    params: { log_filter: logFilter },
    event: logEntry,
    farewell: (why) => tailNotice(`this log stream ends: ${why}`),
    fails: ["NeedsWebSocket", "TooManySubscriptions"],
    example: {
      params: { token: "<SUPER_TOKEN>", log_filter: "info,db=trace" },
      result: "mT3cQy0vKx8rW2hLp5nZ7bDf",
    },
    run: ({ hub, stop }, { log_filter }) => openTail(hub, log_filter, stop),
  }),
  "node-server_unsubscribe_stream_log": method({
    doc: "Ends a log stream of this connection; false when it has none with this id.",
    need: owner,
    params: { subscription: z.string() },
    result: z.boolean(),
    example: { params: { subscription: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
    run: ({ cancel }, { subscription }) => cancel(subscription),
  }),
  "node-server_get_database_type": method({
    doc: "Tells which kind of database the server runs on.",
    need: globally("node.get_database_type"),
    params: {},
    result: z.object({ success: z.literal(true), data: z.enum(["sqlite", "postgres", "mysql", "unknown"]) }),
    example: { params: { token: "<SUPER_TOKEN>" }, result: { success: true, data: "sqlite" } },
    run: ({ database }) => ({ success: true as const, data: database.kind }),
  }),
  "node-server_database_storage": method({
    doc: "Tells how many bytes each table takes: on PostgreSQL with its indexes and out-of-line storage, on SQLite its own pages.",
    need: superToken,
    params: {},
    result: z.object({ tables: z.record(z.string(), z.int()), total: z.int() }),
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { tables: { crontab: 4096, token: 8192 }, total: 12288 },
    },
    run: async ({ database }) => storageResult(await database.operator.tableSizes()),
  }),
  "node-server_self_update": method({
    doc: "Replaces the server's binary by the release `tag`, up or down, and restarts into it 3 seconds after the answer; the process id stays. Nothing happens when that version runs already. Progress is in the log.",
    need: superToken,
    params: { tag: z.string().describe("the version, as `vX.Y.Z`") },
    logged: ["tag"],
    result: z.null(),
    fails: ["InvalidInput", "IoError", "Other"],
    example: { params: { token: "<SUPER_TOKEN>", tag: "v1.2.3" }, result: null },
    run: async ({ updater, restart, afterReply }, { tag }) => {
      if (await updater.update(parseTag(tag)))
        afterReply(() => {
          setTimeout(restart, restartDelayMs);
        });
      return null;
    },
  }),
  "node-server_exec_sql": method({
    doc: "Runs SQL on the main database; of several statements the last one's result is answered. Of more than 10,000 rows it gives the first 10,000, and `truncated` is true. It means full trust: on SQLite it can write any file that the server can.",
    need: globally("node.exec_sql"),
    params: {
      sql: z.string(),
      params: z.unknown().optional().describe("an array of values for the placeholders, or null"),
    },
    result: z.object({
      success: z.literal(true),
      data: z.array(z.record(z.string(), z.unknown())),
      row_count: z.int(),
      truncated: z.boolean(),
    }),
    fails: ["DatabaseError", "InvalidInput", "ResponseTooBig"],
    example: {
      params: { token: "<SUPER_TOKEN>", sql: "SELECT id, token_key FROM token WHERE id = 1" },
      result: {
        success: true,
        data: [{ id: 1, token_key: "eIWPZ6CqJxc2xuH4" }],
        row_count: 1,
        truncated: false,
      },
    },
    run: async ({ database, limits, buckets, room }, { sql, params }) => {
      if (params != null && !Array.isArray(params)) {
        throw new Fault("InvalidInput", "params must be an array", { field: "params" });
      }
      try {
        const { maxAnswerBytes: limit, sqlTimeoutMs: timeoutMs } = limits();
        return await database.operator.run({ sql, params: params ?? null, maxBytes: room, limit, timeoutMs });
      } finally {
        // It may have changed a bucket's row.
        buckets.forget();
      }
    },
  }),
};

/** As text, because an object would put names that look like numbers first. The migrations table is no business of the operator's. */
function storageResult(sizes: ReadonlyMap<string, number>): RawJson {
  const tables = [...sizes]
    .filter(([name]) => name !== "seaql_migrations")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const members = tables.map(([name, bytes]) => `${JSON.stringify(name)}:${bytes}`);
  return new RawJson(
    `{"tables":{${members.join(",")}},"total":${tables.reduce((sum, [, bytes]) => sum + bytes, 0)}}`,
  );
}

import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anyone, anyToken, anywhere, globally, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/raw-json.ts";
import { build } from "../build.ts";
import { parseTag } from "../update/release.ts";
import { method } from "./declare.ts";
import { nodeConfig } from "./node-config.ts";
import { nodeLog } from "./node-log.ts";

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

export const nodeServer = {
  "node-server_hello": method({
    doc: "Answers a fixed text: the server runs.",
    need: anyone,
    effect: "reads",
    params: {},
    result: z.literal("Node Server Is Running!"),
    example: { params: {}, result: "Node Server Is Running!" },
    run: () => "Node Server Is Running!" as const,
  }),
  "node-server_version": method({
    doc: "Tells what was built, when, and from which commit.",
    need: anyone,
    effect: "reads",
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
    effect: "reads",
    params: {},
    result: z.uuid(),
    example: { params: {}, result: "65d0b837-40a7-49e0-89e1-bba14a18b59f" },
    run: ({ serverUuid }) => serverUuid,
  }),
  "node-server_uptime": method({
    doc: "Tells for how many milliseconds the server has been running; a self-update begins anew.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.int(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: 93784005 },
    run: ({ uptimeMs }) => uptimeMs(),
  }),
  "node-server_list_all_agent_uuid": method({
    doc: "Lists the agents that the token may see, sorted.",
    need: anywhere(...listPermissions),
    effect: "reads",
    params: {},
    result: z.object({ uuids: z.array(z.string()) }),
    replacedBy: "agent-uuid_list_all",
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { uuids: ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"] },
    },
    run: async ({ agents, caller }) => ({ uuids: await agents.visibleTo(caller) }),
  }),
  ...nodeConfig,
  ...nodeLog,
  "node-server_get_database_type": method({
    doc: "Tells which kind of database the server runs on.",
    need: globally("node.get_database_type"),
    effect: "reads",
    params: {},
    result: z.object({ success: z.literal(true), data: z.enum(["sqlite", "postgres", "mysql", "unknown"]) }),
    example: { params: { token: "<SUPER_TOKEN>" }, result: { success: true, data: "sqlite" } },
    run: ({ database }) => ({ success: true as const, data: database.kind }),
  }),
  "node-server_database_storage": method({
    doc: "Tells how many bytes each table takes: on PostgreSQL with its indexes and out-of-line storage, on SQLite its own pages.",
    need: superToken,
    effect: "reads",
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
    effect: "changes",
    warning: "It replaces the server's binary and restarts the server.",
    params: { tag: z.string().describe("the version, as `vX.Y.Z`") },
    logged: ["tag"],
    result: z.null(),
    fails: ["InvalidInput", "IoError", "Other"],
    example: { params: { token: "<SUPER_TOKEN>", tag: "v1.2.3" }, result: null },
    run: async ({ updater, scheduleRestart, afterReply }, { tag }) => {
      if (await updater.update(parseTag(tag))) afterReply(scheduleRestart);
      return null;
    },
  }),
  "node-server_exec_sql": method({
    doc: "Runs SQL on the main database; of several statements the last one's result is answered. Of more than 10,000 rows it gives the first 10,000, and `truncated` is true. It means full trust: on SQLite it can write any file that the server can.",
    need: globally("node.exec_sql"),
    effect: "destroys",
    warning: "It runs SQL on the server's own database. What it changes cannot be taken back.",
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
    run: async ({ database, limits, buckets, resultBudgetBytes }, { sql, params }) => {
      if (params != null && !Array.isArray(params)) {
        throw new Fault("InvalidInput", "params must be an array", { field: "params" });
      }
      const { maxAnswerBytes: limit, sqlTimeoutMs: timeoutMs } = limits();
      // It may change a bucket's row.
      return buckets.changing(
        database.operator.run({ sql, params: params ?? null, maxBytes: resultBudgetBytes, limit, timeoutMs }),
      );
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

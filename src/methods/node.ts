import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anyone, anyToken, anywhere, globally, superToken } from "../auth/need.ts";
import { build } from "../build.ts";
import { parseTag } from "../update/release.ts";
import { method } from "./declare.ts";

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

/** Methods of the `node-server` namespace that say which server answers, and for how long it has been running. */
export const nodeIdentity = {
  "node-server_hello": method({
    doc: "Returns a fixed text, to check that the server runs.",
    need: anyone,
    effect: "reads",
    params: {},
    result: z.literal("Node Server Is Running!"),
    example: { params: {}, result: "Node Server Is Running!" },
    run: () => "Node Server Is Running!" as const,
  }),
  "node-server_version": method({
    doc: "Returns the version, the time of the build, and the commit.",
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
    doc: "Returns the server's UUID, which `server_uuid` in the configuration sets.",
    need: anyone,
    effect: "reads",
    params: {},
    result: z.uuid(),
    example: { params: {}, result: "65d0b837-40a7-49e0-89e1-bba14a18b59f" },
    run: ({ serverUuid }) => serverUuid,
  }),
  "node-server_uptime": method({
    doc: "Returns how long the server has been running, in milliseconds. A self-update resets it.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.int(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: 93784005 },
    run: ({ uptimeMs }) => uptimeMs(),
  }),
};

const configWarning = z
  .object({ field: z.string(), why: z.string(), line: z.int().optional(), column: z.int().optional() })
  .meta({ id: "ConfigWarning" });

const configKey = z
  .object({
    table: z.string().optional().describe("undefined for keys above the first table"),
    is_repeated: z.boolean().describe("whether the table may be there several times, each as `[[table]]`"),
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
          is_repeated: false,
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

const certificate = z
  .object({
    name: z.string(),
    of: z.enum(["server", "bucket"]).describe("whose name it is"),
    state: z.enum(["waiting", "issuing", "issued", "failed"]),
    issuer: z.string().nullable(),
    from: z.int().nullable(),
    until: z.int().nullable(),
    renew_at: z.int().nullable(),
    problem: z
      .object({
        reason: z.string(),
        detail: z.string(),
        advice: z.string(),
        at: z.int(),
        retry_at: z.int(),
      })
      .nullable(),
  })
  .meta({ id: "Certificate" });

const example = {
  name: "shop.example.com",
  of: "bucket" as const,
  state: "issued" as const,
  issuer: "Let's Encrypt",
  from: 1_794_000_000_000,
  until: 1_801_776_000_000,
  renew_at: 1_799_184_000_000,
  problem: null,
};

/** `nodeCertificates` are the methods about the certificates that the server orders by itself. */
export const nodeCertificates = {
  "node-server_certificates": method({
    doc: "Lists the names for which the server orders certificates (`auto` in `[tls]`), sorted: `server_name`, the host of `[s3]` (with `dns_hook` also `*.` before it), and the host names of all enabled buckets. `state` is `waiting` before the first attempt, `issuing` while one is under way, `issued` once clients are shown it, or `failed` without a valid certificate. `problem` is why the last attempt failed, also while an older certificate is in force: `reason` is a code, `advice` says what to do, and the server tries again at `retry_at`. Times are in Unix milliseconds. Without `auto`, the list is empty.",
    need: globally("node.metrics"),
    effect: "reads",
    params: {},
    result: z.array(certificate).readonly(),
    fails: ["DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: [example] },
    run: ({ certificates }) => certificates.list(),
  }),
  "node-server_renew_certificate": method({
    doc: "Orders a new certificate for one of the names of `node-server_certificates` now, without waiting for its time, and returns its state before that. The certificate in force stays until the new one is there. The server orders at most 4 certificates an hour for a name, so that the certificate authority does not block it; after that it refuses with the reason `limited_here`, and nothing changes.",
    need: superToken,
    effect: "changes",
    params: { name: z.string().toLowerCase().describe("a host name") },
    logged: ["name"],
    result: certificate,
    fails: ["InvalidInput", "NotFound", "DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>", name: "shop.example.com" }, result: example },
    run: async ({ certificates, audit }, { name }) => {
      const before = await certificates.renew(name);
      audit("certificate.requested", { name });
      return before;
    },
  }),
};

/** Methods of the `node-server` namespace that replace the running version. */
export const nodeUpdate = {
  "node-server_self_update": method({
    doc: "Replaces the server's binary with the release `tag`, newer or older, and restarts into it 3 seconds after the answer. The process id stays the same. Nothing happens if that version already runs. The log shows the progress.",
    need: superToken,
    effect: "changes",
    warning: "This replaces the server's binary and restarts the server.",
    params: { tag: z.string().describe("the version, as `vX.Y.Z`") },
    logged: ["tag"],
    result: z.null(),
    fails: ["InvalidInput", "IoError", "Other"],
    example: { params: { token: "<SUPER_TOKEN>", tag: "v1.2.3" }, result: null },
    run: async ({ updater, scheduleRestart, afterReply, audit }, { tag }) => {
      if (!(await updater.update(parseTag(tag)))) return null;
      audit("update.requested", { tag });
      afterReply(scheduleRestart);
      return null;
    },
  }),
  "node-server_latest_release": method({
    doc: "Returns whether the release server (`release_url`) has a newer version. It is asked at most once an hour, for up to 5 seconds. If it does not answer, `problem` says why, and `latest` is its last answer, or null. `checked_at` is in Unix milliseconds.",
    need: globally("node.metrics"),
    effect: "reads",
    params: {},
    result: z.object({
      current: z.string(),
      latest: z.string().nullable(),
      newer: z.boolean(),
      checked_at: z.int().nullable(),
      problem: z.string().nullable(),
    }),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        current: "0.2.0",
        latest: null,
        newer: false,
        checked_at: null,
        problem: "release_url is not set in the configuration",
      },
    },
    run: async ({ latestRelease }) => {
      const { checkedAt: checked_at, ...state } = await latestRelease.state();
      return { ...state, checked_at };
    },
  }),
};

const clusterNode = z
  .object({
    uuid: z.string(),
    /** Made at its start. */
    boot: z.string(),
    name: z.string(),
    url: z.string().nullable(),
    version: z.string(),
    since: z.int(),
    last_seen: z.int(),
    alive: z.boolean(),
    ready: z.boolean(),
    files: z.string(),
    processes: z.int(),
  })
  .meta({ id: "ClusterNode" });

const exampleNode = {
  uuid: "65d0b837-40a7-49e0-89e1-bba14a18b59f",
  boot: "0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10",
  name: "node1",
  url: "https://node1.example.com:2211",
  version: "0.2.0",
  since: 1_794_000_000_000,
  last_seen: 1_794_000_360_000,
  alive: true,
  ready: true,
  files: "disk",
  processes: 1,
};

/** `cluster` are the methods about the nodes that use one database. */
export const cluster = {
  cluster_nodes: method({
    doc: "Lists the nodes that use the same database, sorted by name. `answered_by` is the node that answered. Times are Unix milliseconds of the database's clock. `url` is the node's own address, if known. A node is `alive` for 60 s after `last_seen`. A node that disappeared without a proper stop stays in the list for a day. `files` is equal for nodes that share a file store; it is `disk` for plain files, which nodes cannot share. `warnings` have the codes of docs/events.md and the UUIDs of the nodes concerned.",
    need: globally("node.read_nodes"),
    effect: "reads",
    params: {},
    result: z.object({
      answered_by: z.object({ uuid: z.string(), boot: z.string() }),
      nodes: z.array(clusterNode).readonly(),
      warnings: z
        .array(
          z.object({
            event: z.enum(["nodes.same_uuid", "nodes.files_not_shared"]),
            nodes: z.array(z.string()).readonly(),
          }),
        )
        .readonly(),
    }),
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        answered_by: { uuid: exampleNode.uuid, boot: exampleNode.boot },
        nodes: [exampleNode],
        warnings: [],
      },
    },
    run: ({ roster }) => roster.view(),
  }),
};

export const agentUuid = {
  "agent-uuid_list_all": method({
    doc: "Lists the agents that the token may see, sorted. A `List` permission in the scope of one agent shows the agent only if the token holds another permission on it, too.",
    need: anywhere(...listPermissions),
    effect: "reads",
    params: {},
    result: z.array(z.string()),
    example: { params: { token: "<SUPER_TOKEN>" }, result: ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"] },
    run: ({ agents, caller }) => agents.visibleTo(caller),
  }),
};

/** The listing of agents by its name in the `node-server` namespace. */
export const nodeAgents = {
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
};

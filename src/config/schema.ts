import { z } from "zod";
import { parseAddress } from "../base/address.ts";
import { parseDatabaseUrl } from "../base/database-url.ts";
import { Fault } from "../base/fault.ts";
import { parsePublicKeys } from "../base/minisign-key.ts";
import { parseFilter } from "../log/filter.ts";
import { backupKeys } from "./backup-keys.ts";
import { clusterKeys } from "./cluster-keys.ts";
import { listenerKeys, proxyKeys, socketAccessKeys } from "./connection-keys.ts";
import { connectionsMissing, filesKeys, hasConnections, hasS3Keys, s3KeysMissing } from "./files-keys.ts";
import { type Key, key, readBy, sqliteFilePart } from "./key.ts";
import { accessLogKeys, jsonLogRotationKeys } from "./log-file-keys.ts";
import { staticKeys } from "./static-keys.ts";

const MiB = 1024 * 1024;
const count = z.int().nonnegative();
const atLeastOne = z.int().positive();
const text = z.string().min(1);
const maxTimerMs = 2_147_483_647;
const milliseconds = count.max(maxTimerMs);
const millisecondsFromOne = atLeastOne.max(maxTimerMs);

const listener = z.string().transform((value, context) => {
  const address = parseAddress(value);
  if (address !== undefined) return address;
  context.addIssue('must be an address and a port, such as "127.0.0.1:2211" or "[::1]:2211"');
  return z.NEVER;
});

const filter = readBy(parseFilter);

const releaseUrl = readBy((value) => {
  const isWeb = URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  if (isWeb) return value;
  throw new Fault(
    "InvalidInput",
    "must begin with https:// (or http://), such as https://releases.example.com",
  );
});

const publicKeys = readBy((value) => {
  parsePublicKeys(value);
  return value;
});

const databaseUrl = readBy((text) => {
  parseDatabaseUrl(text);
  return text;
});

export const topKeys = {
  ws_listener: key("address", listener, "The address of HTTP and WebSocket. Port 0 means any free port.", {
    initial: "127.0.0.1:2211",
  }),
  ...listenerKeys,
  server_uuid: key(
    "UUID",
    z
      .string('must be a UUID, or "auto_gen"')
      .regex(
        /^(auto_gen|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/,
        'must be a UUID, or "auto_gen"',
      )
      .default("auto_gen"),
    "The identity that `node-server_uuid` returns. `auto_gen` creates one at the first start and stores it in a file beside this one.",
    { initial: "auto_gen" },
  ),
  link_key_file: key(
    "path",
    text.optional(),
    "The file with the part of the key of signed links that is outside of the database; created if it is missing. Default: `config.link-key` beside this file. All nodes of a cluster must have the same content in theirs.",
    { example: "link-key" },
  ),
  ...proxyKeys,
  jsonrpc_max_connections: key(
    "number",
    atLeastOne.default(100),
    "JSON-RPC requests in flight plus open WebSockets; above it the answer is 429.",
  ),
  max_request_body_size: key(
    "bytes",
    atLeastOne.max(1024 * MiB).default(10 * MiB),
    "The largest JSON-RPC request or WebSocket message. With little memory a message may be less: half of `client_memory_bytes` is shared out among `jsonrpc_max_connections`.",
  ),
  max_response_body_size: key(
    "bytes",
    atLeastOne.max(1024 * MiB).default(100 * MiB),
    "The largest JSON-RPC answer.",
  ),
  client_memory_bytes: key(
    "bytes",
    count.default(0),
    "Memory that clients can make the server hold: requests being read, calls that wait, answers not yet sent. Above it they get 503 and try again. 0 means a quarter of the memory that the process may use, which a cgroup may limit.",
    { example: 256 * MiB },
  ),
  max_upload_size: key("bytes", count.default(0), "The largest WebDAV upload; 0 means no limit.", {
    example: 1_000_000_000,
  }),
  enable_unix_socket: key("boolean", z.boolean().default(false), "Also serve on a Unix socket."),
  unix_socket_path: key(
    "path",
    text.optional(),
    "The path of that socket; default: `node.sock` beside the database.",
    { example: "data/node.sock" },
  ),
  ...socketAccessKeys,
  tls_cert: key(
    "path",
    text.optional(),
    "PEM certificate chain; with `tls_key` the listener serves https and wss.",
    { example: "cert.pem", fileUse: "read" },
  ),
  tls_key: key("path", text.optional(), "PEM private key of `tls_cert`.", {
    example: "key.pem",
    fileUse: "read",
  }),
  ...staticKeys,
  ...clusterKeys,
  ...backupKeys,
  console: key(
    "boolean",
    z.boolean().default(true),
    "Serve the web console at `/node/console/`, except at host names of buckets. While it is on, the top folder of the HTTP root cannot contain a service worker; a site at a host name of its own can.",
  ),
  release_url: key(
    "URL",
    releaseUrl.optional(),
    "The address of the releases for self-update; without it self-update is off.",
    { example: "https://releases.example.com" },
  ),
  release_public_key: key(
    "text",
    publicKeys.optional(),
    "A minisign public key: if set, an update must have a valid signature.",
    { example: "RW…" },
  ),
};

export const loggingKeys = {
  log_filter: key(
    "filter",
    filter.optional(),
    "The entries that the terminal shows, in the grammar of `RUST_LOG`; default `info`. The environment variable `RUST_LOG` overrides it.",
    { initial: "info" },
  ),
  log_format: key(
    "text",
    z.enum(["text", "json"], 'must be "text" or "json"').default("text"),
    "The form of entries on standard error: `text` for people, or `json`, one object per line, for containers.",
  ),
  json_log_file: key(
    "path",
    text.optional(),
    "Also append every entry to this file, one JSON object per line.",
    { example: "node.log" },
  ),
  json_log_filter: key(
    "filter",
    filter.optional(),
    "The entries that the file gets; default: as `log_filter`.",
    {
      example: "info",
    },
  ),
  ...jsonLogRotationKeys,
  memory_log_capacity: key(
    "number",
    count.max(1_000_000).default(500),
    "The number of entries kept in memory for `node-server_log`; 0 turns it off.",
  ),
  memory_log_filter: key(
    "filter",
    filter.optional(),
    "The entries kept in memory; default: as `log_filter`.",
    {
      example: "info",
    },
  ),
  ...accessLogKeys,
};

export const databaseKeys = {
  database_url: key(
    "URL",
    databaseUrl,
    "`sqlite://path?mode=rwc`, or `postgres://user:password@host:port/name`.",
    { initial: "sqlite://data/node.db?mode=rwc", file: sqliteFilePart },
  ),
  connect_timeout_ms: key("ms", millisecondsFromOne.default(3000), "How long a connection may take to open."),
  acquire_timeout_ms: key(
    "ms",
    millisecondsFromOne.default(3000),
    "How long a statement may wait for a free connection.",
  ),
  answer_timeout_ms: key(
    "ms",
    millisecondsFromOne.default(5000),
    "How long PostgreSQL may take to answer one of the server's own statements; after that the call fails with 103 and `unavailable`, HTTP with 503.",
  ),
  stale_seconds: key(
    "seconds",
    count.default(60),
    "How long plain HTTP continues to serve the buckets it knows while the database is unavailable; 0 means not at all. Tokens are always read from the database.",
  ),
  idle_timeout_ms: key(
    "ms",
    milliseconds.default(60_000),
    "An idle PostgreSQL connection is closed after this; 0 means never.",
  ),
  max_lifetime_ms: key(
    "ms",
    milliseconds.default(1_800_000),
    "A PostgreSQL connection is replaced after this; 0 means never.",
  ),
  max_connections: key(
    "number",
    atLeastOne.max(10_000).default(10),
    "The maximum number of PostgreSQL connections.",
  ),
  sql_timeout_ms: key(
    "ms",
    milliseconds.default(60_000),
    "How long a statement of `node-server_exec_sql` may run; 0 means no limit.",
  ),
};

type Keys = Readonly<Record<string, Key>>;
type Shape<K extends Keys> = { [N in keyof K]: K[N]["type"] };

function shapeOf<K extends Keys>(keys: K): Shape<K> {
  return Object.fromEntries(Object.entries(keys).map(([name, { type }]) => [name, type])) as Shape<K>;
}

type Table = "logging" | "database" | "files";

/** `sections` are the tables of the file, in the order in which they are written and documented. */
export const sections: ReadonlyArray<readonly [table: Table | undefined, keys: Keys]> = [
  [undefined, topKeys],
  ["logging", loggingKeys],
  ["database", databaseKeys],
  ["files", filesKeys],
];

/** Setting is a key with its place in the file. */
export interface Setting {
  readonly table: Table | undefined;
  readonly name: string;
  /** The name, after the table if there is one. */
  readonly path: readonly string[];
  readonly key: Key;
}

/** `settings` are the keys of all tables. */
export const settings: readonly Setting[] = sections.flatMap(([table, keys]) =>
  Object.entries(keys).map(([name, key]) => ({
    table,
    name,
    path: table === undefined ? [name] : [table, name],
    key,
  })),
);

export const configSchema = z
  .object({
    ...shapeOf(topKeys),
    logging: z.object(shapeOf(loggingKeys)).prefault({}),
    database: z.object(shapeOf(databaseKeys)),
    files: z.object(shapeOf(filesKeys)).prefault({}),
  })
  // Checked also if other keys are invalid, so that one run reports everything.
  .refine((config) => config.tls_cert === undefined || config.tls_key !== undefined, {
    path: ["tls_cert"],
    error: 'needs tls_key beside it; write tls_key = "key.pem" with the path of its private key',
    when: () => true,
  })
  .refine((config) => config.tls_key === undefined || config.tls_cert !== undefined, {
    path: ["tls_key"],
    error: 'needs tls_cert beside it; write tls_cert = "cert.pem" with the path of its certificate',
    when: () => true,
  })
  .refine(({ files }) => hasS3Keys(files), s3KeysMissing)
  .refine(({ files, database }) => hasConnections(files, database), connectionsMissing);

/** CheckedConfig is a configuration that passed the schema; its paths are as they were written. */
export type CheckedConfig = z.output<typeof configSchema>;

/** Config is a configuration that was checked as a whole, with absolute paths. Only `parseConfig` creates one. */
export type Config = CheckedConfig & { readonly unix_socket_path: string };

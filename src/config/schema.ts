import { z } from "zod";
import { isHostName, isLocalhost, parseAddress } from "../base/address.ts";
import {
  boundsOf,
  choicesOf,
  defaultOf,
  type FilePart,
  type Key,
  key,
  readBy,
  sqliteFilePart,
} from "../base/config-key.ts";
import { parseDatabaseUrl } from "../base/database-url.ts";
import { Fault } from "../base/fault.ts";
import { hookEvents, isHookPattern } from "../base/hook-events.ts";
import { type IpNetwork, parseIpNetwork } from "../base/ip-networks.ts";
import { parsePublicKeys } from "../base/minisign.ts";
import { blobKeys, findKind, type KindSettings, kindOf } from "../blobs/open-blobs.ts";
import { parseFilter } from "../log/filter.ts";

const MiB = 1024 * 1024;
const maxTimeoutMs = 600_000;
const text = z.string().min(1);

const filesUrl = readBy((value) => {
  kindOf(value);
  return value;
});

/** `folderPart` is the folder in the URL of a store that is one. */
export const folderPart: FilePart = {
  read: (url) => kindOf(url).folderOf?.(url),
  // The folder is absolute, so that no other takes its place.
  replace: (url) => url,
};

/** `filesKeys` say where the content of the buckets' files is kept. */
const filesKeys = {
  url: key(
    "URL",
    filesUrl.optional(),
    "Where the content of files is stored: `file:///absolute/folder` or `s3://bucket/prefix`. Their names are then in the database. Without it, files are plain files below `static_path`. [storage.md](storage.md) helps you choose; `node-server migrate --files` moves files to another store.",
    { example: "file:///srv/node-server/blobs", file: folderPart, fileUse: "folder" },
  ),
  ...blobKeys(),
  cache_path: key(
    "path",
    text.optional(),
    "The folder that caches content read from S3. Default: `blob-cache` beside the SQLite file, or `data/blob-cache` beside this file for PostgreSQL.",
    { example: "data/blob-cache", fileUse: "folder" },
  ),
  cache_bytes: key(
    "bytes",
    z
      .int()
      .nonnegative()
      .default(1024 * MiB),
    "The maximum size of the cache. The content that was least recently read is removed first. 0 turns the cache off.",
  ),
  request_timeout_ms: key(
    "ms",
    z.int().positive().max(maxTimeoutMs).default(10_000),
    "How long S3 may take for one step of a request, such as beginning an answer or sending its next bytes.",
  ),
};

type FilesValues = KindSettings & { readonly url?: string | undefined };

/** `missingSettings` returns what the store that `url` names needs and does not have, for people. */
function missingSettings(files: FilesValues): string | undefined {
  return findKind(files.url)?.missing?.(files);
}

/** `hasConnections` returns whether PostgreSQL has a connection for the statements that a change of a file waits for. */
function hasConnections(
  { url }: Pick<FilesValues, "url">,
  database: { readonly database_url: string; readonly max_connections: number },
): boolean {
  return url === undefined || database.max_connections > 1 || database.database_url.startsWith("sqlite:");
}

const connectionsMissing = {
  path: ["database", "max_connections"],
  error: "must be 2 or more with [files] url: a change of a file needs a second connection",
};

export const retentionDays = z.int().nonnegative().max(3650);
const maxDeploys = 1000;

/** `staticKeys` say where the folders of the buckets are, and how their files are kept and served. */
const staticKeys = {
  static_path: key(
    "path",
    z.string().min(1).default("./static/"),
    "The folder that contains the folders of all buckets.",
    {
      fileUse: "folder",
    },
  ),
  sync_uploads: key(
    "boolean",
    z.boolean().default(true),
    "Sync each upload to the disk before answering it; false leaves that to the operating system.",
  ),
  keep_removed_days: key(
    "days",
    retentionDays.optional(),
    "How long deleted and replaced files can be restored; 0 keeps none. Default: 7 with `[files] url`, otherwise 0. Plain files that are already in the trash keep their days. With `[files] url`, a backup of the database alone can be restored for the same time, because the content of its files still exists.",
    { initial: 30 },
  ),
  keep_deploys: key(
    "number",
    z.int().min(1).max(maxDeploys).default(10),
    "How many published deploys of a bucket are kept, including the current one. A bucket can be rolled back to each of them.",
  ),
  static_cache_bytes: key(
    "bytes",
    z
      .int()
      .nonnegative()
      .default(64 * MiB),
    "Memory for small files that are requested often.",
  ),
};

/** `proxies` reads a list of networks. A network of all addresses is refused: every client could claim any address. */
const proxies = z
  .array(z.unknown(), 'must be a list in brackets, such as ["127.0.0.1", "10.0.0.0/8"]')
  .transform(
    (items, context): ReadonlyArray<IpNetwork | "unix"> =>
      items.map((item, at) => {
        if (item === "unix") return item;
        const network = typeof item === "string" ? parseIpNetwork(item) : undefined;
        if (network !== undefined && network.prefix > 0) return network;
        context.addIssue(
          network === undefined
            ? `has an invalid item ${at + 1}: write an address such as "127.0.0.1", a network such as "10.0.0.0/8" or "2001:db8::/32", or "unix"`
            : `has an item ${at + 1} that trusts every client to name its own address; list the proxies alone`,
        );
        return z.NEVER;
      }),
  );

/** `proxyKeys` say whose word about a client's address is taken. */
const proxyKeys = {
  trusted_proxies: key(
    "list",
    proxies.default([]),
    'Reverse proxies that may name the client\'s address: addresses, networks, and `"unix"` for clients of the Unix socket. For all other clients it is the address of the connection.',
  ),
  proxy_header: key(
    "text",
    z
      .enum(["x-forwarded-for", "forwarded"], 'must be "x-forwarded-for" or "forwarded"')
      .default("x-forwarded-for"),
    "The header in which trusted proxies name the client: `x-forwarded-for` or `forwarded` (RFC 7239). The server reads no other header, because clients could forge it.",
  ),
};

const octalMode = 'must be an octal mode in quotes, such as "0660"';

const socketMode = z.string(octalMode).regex(/^0?[0-7]{3}$/, octalMode);

const maxDrainSeconds = 3600;

const nodeName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, dots, hyphens and underscores, and begin with a letter or digit",
  );

const nodeUrl = readBy((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Fault(
      "InvalidInput",
      "must begin with https:// (or http://), such as https://node1.example.com:2211",
    );
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new Fault(
      "InvalidInput",
      "must not contain a user, a password or options: everyone who can list nodes sees it",
    );
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]")
    throw new Fault(
      "InvalidInput",
      "must name an address of this node that others can connect to, not all of its addresses",
    );
  return value.replace(/\/+$/, "");
});

/** `clusterKeys` are about a node among others on the same database. */
const clusterKeys = {
  node_name: key(
    "text",
    nodeName.optional(),
    "The name of this node in lists of nodes. Default: the name of the machine.",
    { example: "node1" },
  ),
  node_url: key(
    "URL",
    nodeUrl.optional(),
    "The address at which operators and other nodes reach this node, not the load balancer. Default: the address of `ws_listener`, unless that means all addresses (`0.0.0.0`).",
    { example: "https://node1.example.com:2211" },
  ),
  drain_seconds: key(
    "seconds",
    z.int().nonnegative().max(maxDrainSeconds).default(0),
    "How long the server keeps serving before it stops or restarts, while `/node/ready` answers 503. Make it longer than your load balancer takes to notice. A second signal ends the wait.",
    { example: 10 },
  ),
};

/** Milliseconds of the units in which an interval is written. */
const intervalUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const interval = readBy((value) => {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const ms = Number(count ?? 0) * (intervalUnits[unit] ?? 0);
  if (ms > 0) return ms;
  if (count !== undefined)
    throw new Fault("InvalidInput", "must be longer than zero; remove the key to make no backups");
  throw new Fault(
    "InvalidInput",
    'must be a number and a unit (s, m, h or d) in quotes, such as "24h" or "7d"',
  );
});

/** `backupKeys` say when and where the server makes backups by itself. */
const backupKeys = {
  backup_dir: key(
    "path",
    z.string().min(1).optional(),
    "The folder for the backups that the server makes by itself. Default: `backup` beside the SQLite file, or beside this file for PostgreSQL.",
    { example: "backup", fileUse: "folder" },
  ),
  backup_every: key(
    "interval",
    interval.optional(),
    "How often the server makes a backup by itself, such as `24h`, `12h` or `7d`. Without it, the server makes one only before a migration.",
    { example: "24h" },
  ),
  backup_keep: key(
    "number",
    z.int().positive().default(7),
    "How many of these backups are kept. Older ones are removed once a new one is complete.",
  ),
  backup_files: key(
    "boolean",
    z.boolean().default(false),
    "Include the files of all buckets in these backups.",
  ),
  backup_before_migration: key(
    "boolean",
    z.boolean().default(true),
    "Back up the database before an update changes its schema. If the backup fails, the server does not start.",
  ),
};

/** `accessLogKeys` are the keys of the access log. */
const accessLogKeys = {
  access_log: key(
    "path",
    z.string().min(1).optional(),
    "Write one line for each HTTP request to this file. Without it, there is no access log.",
    { example: "access.log" },
  ),
  access_log_format: key(
    "text",
    z
      .enum(["combined", "vhost_combined", "json"], 'must be "combined", "vhost_combined" or "json"')
      .default("combined"),
    "The format of the access log: `combined` as web servers write it, with the duration and id of the request at the end; `vhost_combined`, the same with host and port in front; or `json`, with host and bucket.",
  ),
};

const count = z.int().nonnegative();
const atLeastOne = z.int().positive();
const maxTimerMs = 2_147_483_647;
/** With less, a token with its rights or a whole configuration, as `edit_config` takes it, would not fit into a request. */
const minRequestBytes = 64 * 1024;
export const timeoutMs = atLeastOne.max(maxTimerMs);

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

const topKeys = {
  ws_listener: key("address", listener, "The address for HTTP and WebSocket. Port 0 picks a free port.", {
    initial: "127.0.0.1:2211",
  }),
  http_listener: key(
    "address",
    listener.optional(),
    "An address for plain http that redirects (308) every request to https, and answers certificate authorities. Needs TLS at `ws_listener`. Default: with `auto` in `[tls]`, port 80 at the address of `ws_listener`, unless `dns_hook` is set; otherwise none.",
    { example: "0.0.0.0:80" },
  ),
  server_uuid: key(
    "UUID",
    z
      .string('must be a UUID, or "auto_gen"')
      .regex(
        /^(auto_gen|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/,
        'must be a UUID, or "auto_gen"',
      )
      .default("auto_gen"),
    "The UUID that `node-server_uuid` returns. `auto_gen` creates one at the first start and stores it in a file beside this one.",
    { initial: "auto_gen" },
  ),
  link_key_file: key(
    "path",
    text.optional(),
    "The file with the part of the signed-link key that is not in the database; created if missing. Default: `config.link-key` beside this file. On all nodes of a cluster the file needs the same content.",
    { example: "link-key" },
  ),
  ...proxyKeys,
  jsonrpc_max_connections: key(
    "number",
    atLeastOne.default(100),
    "The maximum number of JSON-RPC requests in flight plus open WebSockets. Further ones get 429.",
  ),
  max_request_body_size: key(
    "bytes",
    z
      .int()
      .min(minRequestBytes)
      .max(1024 * MiB)
      .default(10 * MiB),
    "The largest JSON-RPC request or WebSocket message, at least 64 KiB. With little memory, messages must be smaller: half of `client_memory_bytes` is divided among `jsonrpc_max_connections`.",
  ),
  max_response_body_size: key(
    "bytes",
    atLeastOne.max(1024 * MiB).default(100 * MiB),
    "The largest JSON-RPC answer.",
  ),
  client_memory_bytes: key(
    "bytes",
    count.default(0),
    "Memory for requests being read, waiting calls, and answers not yet sent. Above it, clients get 503 and can try again. 0 means a quarter of the memory that the process may use, cgroup limits included.",
    { example: 256 * MiB },
  ),
  max_upload_size: key("bytes", count.default(0), "The largest WebDAV upload; 0 means no limit.", {
    example: 1_000_000_000,
  }),
  enable_unix_socket: key("boolean", z.boolean().default(false), "Also serve on a Unix socket."),
  unix_socket_path: key(
    "path",
    text.optional(),
    "The path of the Unix socket. Default: `node.sock` beside the database.",
    { example: "data/node.sock" },
  ),
  unix_socket_group: key(
    "text",
    text.optional(),
    "The group whose members may connect to the Unix socket, by name or number. Without it, only the server's user and root may. The server's user must be a member of the group.",
    { example: "www-data" },
  ),
  tls_cert: key(
    "path",
    text.optional(),
    "The certificate chain (PEM). With `tls_key` the server speaks https and wss.",
    { example: "cert.pem", fileUse: "read" },
  ),
  tls_key: key("path", text.optional(), "The private key of `tls_cert` (PEM).", {
    example: "key.pem",
    fileUse: "read",
  }),
  ...staticKeys,
  ...clusterKeys,
  ...backupKeys,
  console: key(
    "boolean",
    z.boolean().default(true),
    "Serve the web console at `/node/console/`, except at host names of buckets. While it is on, the site at the HTTP root cannot have a service worker in its top folder; a site with its own host name can.",
  ),
  release_url: key(
    "URL",
    releaseUrl.optional(),
    "The address of the release server. Without it, self-update is off.",
    { example: "https://releases.example.com" },
  ),
  release_public_key: key(
    "text",
    publicKeys.optional(),
    "A minisign public key. If set, updates need a valid signature.",
    { example: "RW…" },
  ),
};

const loggingKeys = {
  log_filter: key(
    "filter",
    filter.optional(),
    "Which entries the terminal shows, in the syntax of `RUST_LOG`. Default: `info`. The environment variable `RUST_LOG` overrides it.",
    { initial: "info" },
  ),
  log_format: key(
    "text",
    z.enum(["text", "json"], 'must be "text" or "json"').default("text"),
    "The format of entries on standard error: `text` for people, or `json` (one object per line) for containers.",
  ),
  json_log_file: key("path", text.optional(), "Also append entries to this file, one JSON object per line.", {
    example: "node.log",
  }),
  json_log_filter: key(
    "filter",
    filter.optional(),
    "Which entries go to the JSON log file. Default: the same as `log_filter`.",
    {
      example: "info",
    },
  ),
  memory_log_capacity: key(
    "number",
    count.max(1_000_000).default(500),
    "The number of entries kept in memory for `node-server_log`; 0 keeps none.",
  ),
  memory_log_filter: key(
    "filter",
    filter.optional(),
    "Which entries are kept in memory. Default: the same as `log_filter`.",
    {
      example: "info",
    },
  ),
  keep_audit_days: key(
    "days",
    z.int().min(1).max(3650).default(90),
    "How long the database keeps the audit trail: who changed what. At most 100,000 entries and 64 MiB are kept.",
  ),
  ...accessLogKeys,
};

const databaseKeys = {
  database_url: key(
    "URL",
    databaseUrl,
    "The database: `sqlite://path?mode=rwc`, or `postgres://user:password@host:port/name`.",
    { initial: "sqlite://data/node.db?mode=rwc", file: sqliteFilePart },
  ),
  timeout_ms: key(
    "ms",
    timeoutMs.default(5000),
    "How long PostgreSQL may take to accept a connection and to answer one of the server's own statements, and how long a statement may wait for a free connection. After that, a call fails with 103 and `unavailable`, an HTTP request with 503.",
  ),
  stale_seconds: key(
    "seconds",
    count.default(60),
    "How long plain HTTP keeps serving the buckets it knows while the database is unavailable; 0 means not at all. Tokens are always read from the database.",
  ),
  max_connections: key(
    "number",
    atLeastOne.max(10_000).default(10),
    "The maximum number of PostgreSQL connections.",
  ),
  sql_timeout_ms: key(
    "ms",
    count.max(maxTimerMs).default(60_000),
    "How long a statement of `node-server_exec_sql` may run; 0 means no limit.",
  ),
};

const hostName = z
  .string()
  .toLowerCase()
  .refine(
    isHostName,
    "must be a host name such as node.example.com, without https://, port and path; clients may use an address as well",
  );

const email = readBy((value) => {
  if (/^[^\s@<>",;:]+@[^\s@<>",;:]+$/.test(value)) return value;
  throw new Fault("InvalidInput", 'must be an e-mail address, such as "admin@example.com"');
});

const base64url = readBy((value) => {
  if (/^[\w-]+=*$/.test(value)) return value;
  throw new Fault("InvalidInput", "must be the key in base64url, as the certificate authority shows it");
});

const minSecretChars = 32;
const longSecret = readBy((value) => {
  if (value.length >= minSecretChars) return value;
  throw new Fault(
    "InvalidInput",
    `must have at least ${minSecretChars} characters; \`openssl rand -base64 32\` makes one`,
  );
});

const directory = readBy((value) => {
  if (URL.canParse(value) && new URL(value).protocol === "https:") return value;
  throw new Fault(
    "InvalidInput",
    "must begin with https://, such as https://acme-v02.api.letsencrypt.org/directory",
  );
});

const tlsKeys = {
  auto: key(
    "boolean",
    z.boolean().default(false),
    "Order certificates for `server_name`, the host of `[s3]` and the host names of all enabled buckets, and renew them. With it you accept the terms of the certificate authority.",
  ),
  email: key(
    "text",
    email.optional(),
    "The address for the account at the certificate authority, which may write to it.",
    { example: "admin@example.com" },
  ),
  server_name: key(
    "text",
    hostName.optional(),
    "The server's own host name. The console and JSON-RPC then answer at this name, the name in `node_url` and addresses alone, and https answers at no unknown name. Default: at every name that belongs to no bucket.",
    { example: "node.example.com" },
  ),
  directory: key(
    "URL",
    directory.default("https://acme-v02.api.letsencrypt.org/directory"),
    "The ACME directory of the certificate authority. To try things out without its limits, use `https://acme-staging-v02.api.letsencrypt.org/directory`.",
  ),
  ca: key(
    "path",
    text.optional(),
    "The certificate (PEM) that signs that of `directory`, for a private certificate authority. Default: those that the system trusts.",
    { example: "ca.pem", fileUse: "read" },
  ),
  eab_kid: key(
    "text",
    text.optional(),
    "The id of the external account binding, for certificate authorities that need one.",
    { example: "kid-1" },
  ),
  eab_hmac_key: key("text", base64url.optional(), "The key of the external account binding (base64url).", {
    example: "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W",
    isSecret: true,
  }),
  dns_hook: key(
    "path",
    text.optional(),
    "A program that proves names in the DNS (dns-01), where port 80 cannot be reached. It is called with `add` or `remove`, the name of the TXT record and its value, and ends when the DNS answers with it.",
    { example: "/usr/local/bin/dns-hook", fileUse: "read" },
  ),
  secret: key(
    "text",
    longSecret.optional(),
    "Keeps private keys in the database, encrypted with this secret, so that all nodes have them. PostgreSQL needs it, with the same value on all nodes. Default: files of mode 0600 in `certificates` beside the SQLite file.",
    { example: "the-output-of-openssl-rand-base64-32", isSecret: true },
  ),
  hsts_days: key(
    "days",
    retentionDays.optional(),
    "For how many days browsers use only https at the server's own name (`Strict-Transport-Security`); 0 ends that in browsers that come back. Buckets set it for their host names in `_headers`. Default: not at all.",
    { example: 365 },
  ),
};

/** `s3Keys` say where buckets are served to clients of S3; without an address they are not. */
const s3Keys = {
  listener: key(
    "address",
    listener.optional(),
    "An address of its own for clients of S3, such as `127.0.0.1:2213`. It has the certificates of `ws_listener`. Without `listener` and `host`, the server does not speak S3.",
    { example: "127.0.0.1:2213" },
  ),
  host: key(
    "text",
    hostName.optional(),
    "The host name at which every listener answers clients of S3, with the bucket in the path (`https://s3.example.com/bucket/key`) or in the host name (`https://bucket.s3.example.com/key`).",
    { example: "s3.example.com" },
  ),
  anonymous: key(
    "boolean",
    z.boolean().default(false),
    "Whether requests without a signature may read the files of public buckets over S3, as they may over plain HTTP. They cannot list them.",
  ),
};

const hookUrl = readBy((value) => {
  const url = URL.parse(value);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "")
    return value;
  throw new Fault("InvalidInput", "must be an address such as https://example.com/hook, without a user name");
});
const hookPattern = z
  .string()
  .refine(isHookPattern, `must be one of ${hookEvents.join(", ")}, or a pattern such as file.* or *`);

/** `hookKeys` are the keys of each `[[hooks]]`. */
export const hookKeys = {
  url: key(
    "URL",
    hookUrl,
    "Where events are sent by POST. Only this address gets them: redirects are not followed. It may be an address of the own network.",
    { example: "https://example.com/hook" },
  ),
  secret: key(
    "text",
    longSecret,
    "Signs every request, as the [Standard Webhooks](https://www.standardwebhooks.com/) say. If it begins with `whsec_`, the rest is the key in base64.",
    { example: "the-output-of-openssl-rand-base64-32", isSecret: true },
  ),
  events: key(
    "list",
    z.array(hookPattern).min(1).default(["*"]),
    `Which events are sent: ${hookEvents.map((event) => `\`${event}\``).join(", ")}, a family such as \`file.*\`, or all.`,
  ),
  buckets: key("list", z.array(text).min(1).optional(), "The buckets whose events are sent. Default: all."),
};

type Keys = Readonly<Record<string, Key>>;
type Shape<K extends Keys> = { [N in keyof K]: K[N]["type"] };

function shapeOf<K extends Keys>(keys: K): Shape<K> {
  return Object.fromEntries(Object.entries(keys).map(([name, { type }]) => [name, type])) as Shape<K>;
}

type Table = "tls" | "logging" | "database" | "files" | "s3";

/** `sections` are the tables of the file, in the order in which they are written and documented. */
export const sections: ReadonlyArray<readonly [table: Table | undefined, keys: Keys]> = [
  [undefined, topKeys],
  ["tls", tlsKeys],
  ["logging", loggingKeys],
  ["database", databaseKeys],
  ["files", filesKeys],
  ["s3", s3Keys],
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

/** KeyDescription is a key for people and programs that write a configuration. Values are as they are written in the file. */
export interface KeyDescription {
  /** Undefined for keys above the first table. */
  readonly table?: string | undefined;
  /** Whether the table may be there several times, each as `[[table]]`. */
  readonly is_repeated: boolean;
  readonly name: string;
  /** The name of the type in the docs. */
  readonly type: string;
  readonly description: string;
  readonly is_required: boolean;
  readonly default?: string | undefined;
  /** All values, if they are few. */
  readonly choices: readonly string[];
  /** The bounds of a number. */
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly example?: string | undefined;
}

/** Returns all keys in the order of the file. */
export function describeKeys(): readonly KeyDescription[] {
  const inHooks = Object.entries(hookKeys).map(([name, key]) => ({ table: "hooks", name, key }));
  return [...settings, ...inHooks].map(({ table, name, key }) => ({
    table,
    is_repeated: table === "hooks",
    name,
    type: key.typeLabel,
    description: key.description,
    is_required: !key.type.isOptional(),
    default: written(defaultOf(key)),
    choices: choicesOf(key).map((choice) => JSON.stringify(choice)),
    ...boundsOf(key),
    example: written(key.initial ?? key.example),
  }));
}

function written(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

export const configSchema = z
  .object({
    ...shapeOf(topKeys),
    // Retired keys that are still in effect. The processes of a group share their address by `reuse_port`.
    reuse_port: z.boolean().default(false),
    unix_socket_mode: socketMode.optional(),
    tls: z.object(shapeOf(tlsKeys)).prefault({}),
    logging: z.object(shapeOf(loggingKeys)).prefault({}),
    database: z.object(shapeOf(databaseKeys)),
    files: z.object(shapeOf(filesKeys)).prefault({}),
    s3: z.object(shapeOf(s3Keys)).prefault({}),
    hooks: z.array(z.object(shapeOf(hookKeys))).default([]),
  })
  .check(({ value: { hooks }, issues }) => {
    const urls = (hooks ?? []).map(({ url }) => url);
    const at = urls.findIndex((url, index) => urls.indexOf(url) !== index);
    if (at >= 0)
      issues.push({
        code: "custom",
        path: ["hooks", at, "url"],
        message: "is that of another one of [[hooks]], too; put the events of both into one",
        input: urls[at],
      });
  })
  // Checked also if other keys are invalid, so that one run reports everything.
  .refine((config) => config.tls_cert === undefined || config.tls_key !== undefined, {
    path: ["tls_cert"],
    error: 'needs tls_key, too; write tls_key = "key.pem" with the path of its private key',
    when: () => true,
  })
  .refine((config) => config.tls_key === undefined || config.tls_cert !== undefined, {
    path: ["tls_key"],
    error: 'needs tls_cert, too; write tls_cert = "cert.pem" with the path of its certificate',
    when: () => true,
  })
  .refine(
    ({ http_listener, tls_cert, tls }) => http_listener === undefined || tls_cert !== undefined || tls?.auto,
    {
      path: ["http_listener"],
      error: "needs tls_cert and tls_key, or auto in [tls], because it redirects to https",
      when: () => true,
    },
  )
  .refine(({ tls }) => tls.hsts_days === undefined || tls.server_name !== undefined, {
    path: ["tls", "hsts_days"],
    error: 'needs server_name, because browsers take it for a name; write server_name = "node.example.com"',
  })
  .refine(({ tls, s3 }) => s3.host === undefined || s3.host !== tls.server_name, {
    path: ["s3", "host"],
    error:
      "is server_name, too, where the console and JSON-RPC are; give S3 a name of its own, such as s3.node.example.com",
  })
  .refine(({ tls, tls_cert }) => !tls.auto || tls_cert === undefined, {
    path: ["tls", "auto"],
    error: "orders the certificates itself; remove tls_cert and tls_key, or auto",
  })
  .refine(({ tls }) => !tls.auto || tls.server_name === undefined || !isLocalhost(tls.server_name), {
    path: ["tls", "server_name"],
    error:
      "is the machine of whoever asks, and no authority issues a certificate for it; write the public name",
  })
  .refine(({ tls }) => (tls.eab_kid === undefined) === (tls.eab_hmac_key === undefined), {
    path: ["tls", "eab_kid"],
    error: "and eab_hmac_key need each other; the certificate authority shows both",
  })
  .refine(
    ({ tls, database }) => !tls.auto || tls.secret !== undefined || isSqliteUrl(database.database_url),
    {
      path: ["tls", "auto"],
      error:
        "needs secret with PostgreSQL, the same on all nodes, because they share the private keys; `openssl rand -base64 32` makes one",
    },
  )
  .check(({ value: { files }, issues }) => {
    const message = missingSettings(files);
    if (message !== undefined)
      issues.push({ code: "custom", path: ["files", "url"], message, input: files.url });
  })
  .refine(({ files, database }) => hasConnections(files, database), connectionsMissing)
  .transform(({ keep_removed_days: days, ...config }) => ({
    ...config,
    keep_removed_days: days ?? (config.files.url === undefined ? 0 : 7),
  }));

function isSqliteUrl(url: string): boolean {
  return "sqlite" in parseDatabaseUrl(url);
}

/** CheckedConfig is a configuration that passed the schema; its paths are as they were written. */
export type CheckedConfig = z.output<typeof configSchema>;

/** Config is a configuration that was checked as a whole, with absolute paths. Only `parseConfig` creates one. */
export type Config = CheckedConfig & { readonly unix_socket_path: string };

import { z } from "zod";
import type { Level } from "./entry.ts";

const text = z.string();

/** Who made a change and from where; every audit entry has these fields. */
const actor = {
  token_key: text.optional(),
  username: text.optional(),
  address: text,
};
const file = { bucket: text, path: text };
const deploy = { bucket: text, deploy: text };
const bulk = {
  ...file,
  count: z.int().optional(),
  folder: text.optional(),
  paths: z.array(text).optional(),
};
const failures = z.int().optional();
const settings = z.record(text, z.unknown());

function audited<F extends z.ZodRawShape>(description: string, fields: F) {
  return { level: "INFO" as const, description, fields: z.object({ ...actor, ...fields }) };
}

/**
 * `auditEvents` are the acts that change something, on log target `audit`: one entry each. `token_key` or `username` is the token
 * that acted, by the form of its credentials; `address` is its client.
 */
export const auditEvents = {
  "token.created": audited("A token was created.", { target_key: text }),
  "token.edited": audited("The limits of a token were replaced.", { target_key: text }),
  "token.deleted": audited("A token was deleted.", { target_key: text }),
  "token.password_changed": audited("The password of a token was changed.", { target_key: text }),
  "token.secret_rolled": audited(
    "A token got a new secret. With `by`, the command of that name gave the Super Token a new key, secret and password, on the server's machine at the time `at`.",
    { target_key: text, by: z.literal("roll-super-token").optional(), at: text.optional() },
  ),
  "session.begun": audited(
    "A person signed in with a user name and a password, and got a session. `device` is what the client says that it is.",
    { device: text.optional() },
  ),
  "second_factor.turned_on": audited("A person signs in with codes of an app, too.", { target_key: text }),
  "second_factor.turned_off": audited("A person signs in without codes of an app again.", {
    target_key: text,
  }),
  "session.ended": audited("Sessions of a token were ended; `count` is their number.", {
    target_key: text,
    count: z.int(),
  }),
  "bucket.created": audited("A bucket was created.", { bucket: text, settings }),
  "bucket.updated": audited("The listed `settings` of a bucket were changed.", { bucket: text, settings }),
  "bucket.deleted": audited(
    "A bucket was deleted; its files stay where they are. With `files`, its files, deploys and kept versions were deleted too.",
    { bucket: text, files: z.literal(true).optional() },
  ),
  "file.written": audited(
    "A file was written. One entry about files can stand for `count` files. Of one call, `path` is the first of them, and `paths` are the first ten. In the memory of the log, they are below `folder`, and `path` is the last of them.",
    { ...bulk, bytes: z.int() },
  ),
  "file.deleted": audited(
    "A file, or a folder with its content, was deleted. `failures` is the number of entries that could not be deleted.",
    {
      ...bulk,
      failures,
    },
  ),
  "file.moved": audited("A file or a folder was moved to `to`.", { ...bulk, to: text, failures }),
  "file.copied": audited("A file or a folder was copied to `to`.", { ...bulk, to: text, failures }),
  "file.restored": audited(
    "A version of a file, or a deleted folder, was restored. `version` is the change that had removed it; `from` is its former path, if that was different.",
    { ...bulk, version: z.int(), from: text.optional(), failures },
  ),
  "file.purged": audited(
    "All kept versions of deleted and replaced files of a bucket were purged; `versions` is their number.",
    { bucket: text, versions: z.int() },
  ),
  "file.described": audited("Properties or times of a file or a folder were changed.", bulk),
  "folder.created": audited("A folder was created.", bulk),
  "transfer.begun": audited(
    "A program began to change the site of a bucket as a whole; `what` names it, such as `push`.",
    {
      bucket: text,
      what: text,
    },
  ),
  "transfer.ended": audited("A program finished changing the site of a bucket as a whole.", { bucket: text }),
  "link.made": audited(
    "A signed link was made. It is valid until `expires`; `link` is its id, if it is stored.",
    {
      ...file,
      kind: z.enum(["download", "upload", "zip"]),
      expires: z.int(),
      link: text.optional(),
    },
  ),
  "link.used": audited(
    "A signed link was used: a stored link for a download, or any link for an upload. `token_key` is the token that made the link, `address` the client that used it.",
    { ...bulk, kind: z.enum(["download", "upload", "zip"]), link: text.optional() },
  ),
  "link.secret_rolled": audited(
    "The secret of signed links was replaced, which ended all links and previews of all buckets.",
    {},
  ),
  "link.revoked": audited("A signed link was revoked; without `link`, all links of the bucket were.", {
    bucket: text,
    link: text.optional(),
  }),
  "deploy.begun": audited("A deploy was begun.", deploy),
  "deploy.filled": audited("A deploy reused `taken` files whose content the bucket already had.", {
    ...deploy,
    taken: z.int(),
  }),
  "deploy.closed": audited("The changes of a deploy were listed, so it accepts no more files.", deploy),
  "deploy.shown": audited(
    "A preview address of a deploy was made. It is valid until `expires` (Unix milliseconds).",
    {
      ...deploy,
      expires: z.int(),
    },
  ),
  "deploy.published": audited("A deploy was published; `replaced` is the deploy that was published before.", {
    ...deploy,
    replaced: text.optional(),
  }),
  "deploy.rolled_back": audited(
    "An earlier deploy was published again; `replaced` is the deploy that was published before.",
    { ...deploy, replaced: text.optional() },
  ),
  "deploy.deleted": audited("A deploy and its files were deleted.", deploy),
  "config.edited": audited("The configuration file was replaced.", {}),
  "hook.tested": audited("A test event for a webhook was asked for.", { hook: text }),
  "certificate.requested": audited("A new certificate was asked for before its time.", { name: text }),
  "sql.executed": audited(
    "SQL that can write was run. `statements` are the first words of its statements. If the outcome is `failed`, some of them may have been committed before the failure.",
    { statements: z.array(text).readonly(), outcome: z.enum(["succeeded", "failed"]) },
  ),
  "update.requested": audited("A release was installed; the restart follows.", { tag: text }),
  "sign_in.failed": audited(
    "Credentials were refused. There is at most one entry in ten seconds for a name at an address: `count` is the number of failures, `reason` that of the last one. With `link`, the password of that signed link was wrong. With `other_names`, the failures are of several names, and none is shown. With `other_addresses`, they are from several addresses too, and the last one is shown.",
    {
      /** Of a password of a signed link: its id. */
      link: text.optional(),
      reason: z.enum(["invalid_credentials", "expired", "not_yet_valid", "wrong_code", "too_many_codes"]),
      count: z.int(),
      other_names: z.literal(true).optional(),
      other_addresses: z.literal(true).optional(),
    },
  ),
} as const;

export type AuditCode = keyof typeof auditEvents;

/** `isBulkEvent` returns whether a client may cause thousands of these in a row, as by an upload of a folder. */
export function isBulkEvent(code: unknown): boolean {
  return (
    typeof code === "string" &&
    /^(?:file|folder)\.|^link\.used$/.test(code) &&
    Object.hasOwn(auditEvents, code)
  );
}

/** `clusterEvents` are the events of nodes that share a database. */
const clusterEvents = {
  "nodes.same_uuid": {
    level: "WARN",
    description:
      "Another live node, one of `others`, has the same `server_uuid`, usually because its configuration was copied. Logged once for each occurrence.",
    fields: z.object({ uuid: text, others: z.array(text) }),
    hidden: [],
  },
  "nodes.files_not_shared": {
    level: "WARN",
    description:
      "Other nodes on the same database, `others`, use another file store, or all nodes keep plain files, which cannot be shared. Each node serves its own files. Logged once for each occurrence.",
    fields: z.object({ others: z.array(text) }),
    hidden: [],
  },
  "links.no_key": {
    level: "WARN",
    description: "The link key cannot be read or created, so signed links cannot be made or used.",
    fields: z.object({}),
    hidden: [],
  },
  "links.other_key": {
    level: "WARN",
    description:
      "The node's link key is not the key that the database belongs to. Links that other nodes made do not work on this node, and it makes none while another node runs. Logged once for each start.",
    fields: z.object({}),
    hidden: [],
  },
} as const;

/** `memoryEvents` are the events of what nodes remember over a restart. */
const memoryEvents = {
  "audit.dropped": {
    level: "WARN",
    description:
      "Audit entries were not stored in the database, because it was away for too long; `dropped` is their number. The outputs of the log had them.",
    fields: z.object({ dropped: z.int() }),
    hidden: [],
  },
  "server.crashed": {
    level: "WARN",
    description:
      "The last run of this server did not end by a stop: it was killed, or the machine was. Or the database did not answer while it stopped.",
    fields: z.object({}),
    hidden: [],
  },
} as const;

/** The number of a process; every entry of a server with several processes has its own as `process`. */
const of = z.int().describe("the number of the process");

/** `processEvents` are the events of a server that has several processes (`serve --processes`). The first process that runs logs them. */
const processEvents = {
  "process.ended": {
    level: "ERROR",
    description:
      "One of the server's processes ended unexpectedly. The others continue, and it is started again after `restart_ms`.",
    fields: z.object({
      of,
      pid: z.int(),
      code: z.int().nullable(),
      signal: text.nullable(),
      restart_ms: z.int(),
    }),
    hidden: [],
  },
  "process.started": {
    level: "INFO",
    description: "A process that had ended is serving again.",
    fields: z.object({ of, pid: z.int() }),
    hidden: [],
  },
  "process.replaced": {
    level: "INFO",
    description: "A new process replaced an old one, for an update or a reload.",
    fields: z.object({ of, pid: z.int(), version: text }),
    hidden: [],
  },
  "process.not_replaced": {
    level: "ERROR",
    description: "A new process could not be started to replace an old one; the old one continues.",
    fields: z.object({ of, reason: text }),
    hidden: [],
  },
  "process.silent": {
    level: "ERROR",
    description:
      "A process did not answer the supervisor for `silent_ms`. It is killed, and another one is started.",
    fields: z.object({ of, pid: z.int(), silent_ms: z.int() }),
    hidden: [],
  },
  "process.killed": {
    level: "ERROR",
    description: "A process did not end within `stop_ms` after it was asked to, so it was killed.",
    fields: z.object({ of, pid: z.int(), stop_ms: z.int() }),
    hidden: [],
  },
} as const;

/** `storeEvents` are the events of the store of the files. */
const storeEvents = {
  "blob.missing": {
    level: "ERROR",
    description:
      "The blob store has lost the content of a file, or holds it damaged. Requests for the file fail until it is restored from a backup or uploaded again.",
    fields: z.object({ bucket: text, path: text, blob: text }),
    hidden: [],
  },
  "deploy.settled": {
    level: "WARN",
    description:
      "A crash had interrupted the publication of a deploy; the server finished it or took it back. `published` says whether the deploy is now published; `path` is the path of its bucket.",
    fields: z.object({ path: text, deploy: text, published: z.boolean() }),
    hidden: [],
  },
  "deploy.work_failed": {
    level: "WARN",
    description:
      "Old deploys could not be removed, or a publication that a crash interrupted could not be settled. The server tries again at the next call about deploys of the bucket.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "store.buckets_missing": {
    level: "WARN",
    description:
      "The file store (`[files] url`) does not know `count` buckets, of which `buckets` are the first. Their files are in another store; `node-server migrate --files` copies them.",
    fields: z.object({ url: text, buckets: z.array(text), count: z.int() }),
    hidden: [],
  },
  "store.lost": {
    level: "ERROR",
    description:
      "The folder of the buckets (`static_path`) is missing, cannot be written or is on a full disk, or the file store (`[files] url`) cannot be used. Requests for files may fail.",
    fields: z.object({ static_path: text.optional(), url: text.optional(), reason: text }),
    hidden: [],
  },
  "store.request_failed": {
    level: "WARN",
    description:
      "The file store (`[files] url`) failed a request, which was answered with 502 or 503. Logged at most once a minute, and not while the store is lost (`store.lost`).",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "store.restored": {
    level: "INFO",
    description: "The folder of the buckets, or the file store, can be used again.",
    fields: z.object({ static_path: text.optional(), url: text.optional(), lost_ms: z.int() }),
    hidden: [],
  },
  "upload.expired": {
    level: "INFO",
    description:
      "The server removed resumable uploads that were not finished within 24 hours, and remains of uploads to deleted buckets.",
    fields: z.object({ removed: z.int() }),
    hidden: [],
  },
  "upload.work_failed": {
    level: "WARN",
    description:
      "The remains of a resumable upload could not be removed; the server tries again within an hour. The file of a finished upload is in place.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "cache.failed": {
    level: "WARN",
    description:
      "The cache folder (`cache_path`) cannot be written, or its disk is full. Files are sent from the object store.",
    fields: z.object({ cache_path: text, reason: text }),
    hidden: [],
  },
  "cache.restored": {
    level: "INFO",
    description: "Files are cached again.",
    fields: z.object({ cache_path: text }),
    hidden: [],
  },
  "files.swept": {
    level: "INFO",
    description:
      "The daily maintenance of an object store is done. It deleted expired rows of removed files, unreferenced blobs and unfinished uploads, and wrote a manifest of each bucket.",
    fields: z.object({
      purged_rows: z.int(),
      deleted_blobs: z.int(),
      deleted_bytes: z.int(),
      unfinished: z.int(),
      manifests: z.int(),
      elapsed_ms: z.int(),
    }),
    hidden: [],
  },
  "files.care_failed": {
    level: "ERROR",
    description: "The daily maintenance of an object store failed; the server tries again after `retry_ms`.",
    fields: z.object({ reason: text, retry_ms: z.int() }),
    hidden: [],
  },
  "trash.skipped": {
    level: "WARN",
    description:
      "A plain file or folder was deleted or replaced without a copy in the trash (`keep_removed_days`). Its path is too long for the trash, or the disk was full.",
    fields: z.object({ bucket: text, path: text, reason: text }),
    hidden: [],
  },
  "trash.purged": {
    level: "INFO",
    description: "Plain files that had been in the trash for `keep_removed_days` were deleted for good.",
    fields: z.object({ purged: z.int(), elapsed_ms: z.int() }),
    hidden: [],
  },
  "trash.purge_failed": {
    level: "ERROR",
    description: "The trash of plain files could not be purged; the server tries again after `retry_ms`.",
    fields: z.object({ reason: text, retry_ms: z.int() }),
    hidden: [],
  },
} as const;

/** EventRow describes one event of the server's own life. */
interface EventRow {
  readonly level: Level;
  readonly description: string;
  /** Fields of the log entry beside `event`. */
  readonly fields: z.ZodObject;
  /**
   * Fields that a terminal leaves out, because the message already contains them; `event` alone by default. Operators search for
   * what docs/monitor.md calls `event=…`: those show it.
   */
  readonly hidden?: readonly string[];
}

const nothing = z.object({});
const problem = z
  .object({
    file: text.optional(),
    line: z.int().optional(),
    column: z.int().optional(),
    field: text.optional(),
    from: text.optional(),
    why: text,
  })
  .meta({ id: "ConfigProblem" });

/**
 * `events` lists every event of the server's own life, and every change that callers make, that another program may read. The
 * code is `fields.event` of the log entry; the message is for people and may change. Types of the client and the console, and
 * docs/events.md, are generated from this table.
 */
export const events = {
  "server.stopping": {
    level: "INFO",
    description: "The server was asked to stop. It keeps serving for `drain_ms` (`drain_seconds`).",
    fields: z.object({ signal: text, drain_ms: z.int() }),
    hidden: ["event", "signal", "drain_ms"],
  },
  "server.restart_scheduled": {
    level: "INFO",
    description: "An update is in place; the server restarts after this delay.",
    fields: z.object({ delay_ms: z.int() }),
    hidden: [],
  },
  "server.restarting": {
    level: "INFO",
    description: "The server restarts into the binary of an update.",
    fields: nothing,
  },
  "listener.bound": {
    level: "INFO",
    description: "The server accepts connections at `url`.",
    fields: z.object({ url: text, transport: z.enum(["tcp", "unix"]) }),
    hidden: ["event", "url", "transport", "process"],
  },
  "listener.cut_off": {
    level: "WARN",
    description:
      "The server closed `url`, for a stop or a new address, before `requests` HTTP requests and the calls on `sockets` WebSockets had finished. Their connections were closed.",
    fields: z.object({ url: text, requests: z.int(), sockets: z.int() }),
    hidden: ["event", "url", "requests", "sockets"],
  },
  ...processEvents,
  "descriptors.exhausted": {
    level: "ERROR",
    description: "The process has run out of file descriptors; new connections wait.",
    fields: z.object({ idle_connections_closed: z.int() }),
  },
  "descriptors.available": {
    level: "INFO",
    description: "File descriptors are available again.",
    fields: nothing,
  },
  "config.applied": {
    level: "INFO",
    description: "A reload changed these `keys`, and with them these `parts` of the server.",
    fields: z.object({ path: text, parts: z.array(text), keys: z.array(text) }),
    hidden: ["path", "keys"],
  },
  "config.unchanged": {
    level: "INFO",
    description: "A reload found no changes.",
    fields: z.object({ path: text }),
    hidden: ["path"],
  },
  "config.refused": {
    level: "ERROR",
    description:
      "A reload failed; the server continues with the previous configuration. `problems` lists the mistakes in the file, and `kind` is the kind of the error (docs/errors.md).",
    fields: z.object({
      path: text,
      reason: text,
      kind: text.optional(),
      problems: z.array(problem).readonly(),
    }),
    hidden: ["reason", "kind", "problems"],
  },
  "config.abandoned": {
    level: "INFO",
    description: "A reload ended early because the server stops.",
    fields: nothing,
  },
  "config.warning": {
    level: "WARN",
    description: "A key is valid but probably does not do what was intended.",
    fields: z.object({ key: text, why: text, line: z.int().optional(), column: z.int().optional() }),
    hidden: ["event", "why"],
  },
  "config.overridden": {
    level: "INFO",
    description:
      "Logged at the start: these `keys` have the values of environment variables or options, not those in the file. `from` names them in the same order.",
    fields: z.object({ keys: z.array(text), from: z.array(text) }),
    hidden: ["event", "keys", "from"],
  },
  "config.recovered": {
    level: "WARN",
    description: "A crash had interrupted an edit of the configuration, and the server finished it.",
    fields: z.object({ path: text }),
  },
  "database.opened": {
    level: "INFO",
    description: "The database is in use.",
    fields: z.object({ config: text, database: text, static_path: text, files: text.optional() }),
  },
  "database.migrated": {
    level: "INFO",
    description: "One migration of the database schema was applied.",
    fields: z.object({ version: text }),
    hidden: ["event", "version"],
  },
  "database.schema_newer": {
    level: "WARN",
    description:
      "A newer version of node-server (`by`) has applied these migrations. This version does not have them but can work with them.",
    fields: z.object({ migrations: z.array(text), by: text.optional() }),
    hidden: [],
  },
  "database.schema_refused": {
    level: "ERROR",
    description:
      "Another node has applied a migration that this version cannot work with. This node is not ready until it is updated.",
    fields: z.object({ migration: text, by: text.optional() }),
    hidden: [],
  },
  "database.schema_accepted": {
    level: "INFO",
    description: "This version can work with the schema of the database again.",
    fields: nothing,
  },
  "database.lost": {
    level: "ERROR",
    description: "The database cannot be reached, or its file is missing. Calls that need it fail.",
    fields: z.object({ database: text, reason: text }),
    hidden: [],
  },
  "database.restored": {
    level: "INFO",
    description: "The database can be used again.",
    fields: z.object({ database: text, lost_ms: z.int() }),
    hidden: [],
  },
  "database.silent": {
    level: "WARN",
    description: "PostgreSQL did not answer a statement in time; the server replaces its connections.",
    fields: z.object({ timeout_ms: z.int() }),
    hidden: [],
  },
  "database.write_failed": {
    level: "ERROR",
    description: "The database refuses writes; every change fails.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "database.write_restored": {
    level: "INFO",
    description: "The database accepts writes again.",
    fields: nothing,
    hidden: [],
  },
  ...storeEvents,
  ...clusterEvents,
  ...memoryEvents,
  "update.downloading": {
    level: "INFO",
    description: "A release is being downloaded. Logged again with the progress, at most once a second.",
    fields: z.object({
      tag: text,
      bytes: z.int().optional(),
      total: z.int().optional(),
      percent: z.int().optional(),
    }),
  },
  "update.testing": {
    level: "INFO",
    description: "The downloaded binary is started once as a test.",
    fields: z.object({ tag: text }),
  },
  "update.installed": {
    level: "INFO",
    description: "The new binary is in place; the restart follows.",
    fields: z.object({ tag: text, bytes: z.int(), signed: z.boolean() }),
  },
  "update.failed": {
    level: "ERROR",
    description:
      "The update failed and changed nothing. `code` is `data.reason` of the error, if it has one.",
    fields: z.object({ tag: text, reason: text, code: text.optional() }),
  },
  "update.not_started": {
    level: "ERROR",
    description: "The new binary could not be executed; the old one keeps running.",
    fields: z.object({ reason: text }),
  },
  "update.completed": {
    level: "INFO",
    description: "The new version has started.",
    fields: z.object({ from: text, to: text }),
  },
  "update.reverted": {
    level: "ERROR",
    description:
      "The new version did not start, so the previous version runs again. `backup` is the backup that the new version made before a migration, if it made one.",
    fields: z.object({ failed: text, running: text, backup: text.optional() }),
    hidden: [],
  },
  "backup.made": {
    level: "INFO",
    description:
      "The server made a backup by itself: because of `backup_every`, or before the migration that `before` names. `left_out` counts existing things that the backup does not contain.",
    fields: z.object({
      path: text,
      bytes: z.int(),
      elapsed_ms: z.int(),
      left_out: z.int(),
      before: text.optional(),
    }),
    hidden: [],
  },
  "backup.failed": {
    level: "ERROR",
    description: "The server could not make a backup; it tries again after `retry_ms`.",
    fields: z.object({ folder: text, reason: text, retry_ms: z.int() }),
    hidden: [],
  },
  "hook.failed": {
    level: "WARN",
    description:
      "A webhook did not take an event. `reason` is `status`, `redirect`, `timeout`, or why there was no connection. The server tries again after `retry_ms`, and logs only the first failure in a row.",
    fields: z.object({
      hook: text,
      url: text,
      reason: text,
      status: z.int().optional(),
      retry_ms: z.int(),
    }),
    hidden: [],
  },
  "hook.restored": {
    level: "INFO",
    description: "A webhook takes events again.",
    fields: z.object({ hook: text, url: text }),
    hidden: [],
  },
  "hook.given_up": {
    level: "WARN",
    description:
      "An event for a webhook is given up: the receiver has refused it three times, or it is three days old.",
    fields: z.object({ hook: text, id: text, type: text }),
    hidden: [],
  },
  "hook.full": {
    level: "WARN",
    description: "New events of a webhook are lost until fewer than `limit` wait.",
    fields: z.object({ hook: text, limit: z.int() }),
    hidden: [],
  },
  "certificate.expiring": {
    level: "WARN",
    description:
      "The certificate of the listener, or one in its chain, expires within 14 days. Logged at the start, after a reload and once a day.",
    fields: z.object({ expires: text }),
    hidden: ["expires"],
  },
  "certificate.expired": {
    level: "ERROR",
    description: "The certificate of the listener, or one in its chain, has expired. Clients refuse it.",
    fields: z.object({ expires: text }),
    hidden: ["expires"],
  },
  "certificate.issued": {
    level: "INFO",
    description:
      "The server got a certificate for the host name `name` from the certificate authority `issuer`, and uses it.",
    fields: z.object({ name: text, issuer: text, expires: text }),
    hidden: ["name", "expires"],
  },
  "certificate.failed": {
    level: "WARN",
    description:
      "The server got no certificate for the host name `name`. `reason` is a code of [operate.md](operate.md#certificates-by-themselves); it tries again after `retry_ms`. A certificate that is in force stays.",
    fields: z.object({ name: text, reason: text, detail: text, retry_ms: z.int() }),
    hidden: ["name", "reason", "detail"],
  },
  "certificates.failed": {
    level: "ERROR",
    description: "The server cannot read or store certificates. Those in force stay.",
    fields: z.object({ reason: text }),
    hidden: [],
  },
  "access_log.failed": {
    level: "ERROR",
    description: "The access log cannot be written. Requests are answered as before.",
    fields: z.object({ path: text, reason: text }),
    hidden: [],
  },
  "access_log.restored": {
    level: "INFO",
    description: "The access log is written again; `dropped` lines were lost.",
    fields: z.object({ path: text, dropped: z.int() }),
    hidden: [],
  },
  ...auditEvents,
  "log.dropped": {
    level: "WARN",
    description:
      "A reader of the log, or the log file, was too slow and lost `dropped` entries. Only that reader gets this entry.",
    fields: z.object({ dropped: z.int() }),
  },
  "log.ended": {
    level: "WARN",
    description: "The server ends a log stream. Only its reader gets this entry, as the last one.",
    fields: z.object({ reason: text }),
  },
} as const satisfies Readonly<Record<string, EventRow>>;

export type EventCode = keyof typeof events;
export type EventFields<C extends EventCode> = z.input<(typeof events)[C]["fields"]>;

/** `hiddenOnTerminal` returns the fields of an entry that a terminal leaves out. */
export function hiddenOnTerminal({ event }: Readonly<Record<string, unknown>>): readonly string[] {
  if (typeof event !== "string" || !Object.hasOwn(events, event)) return none;
  const { hidden = eventAlone }: EventRow = events[event as EventCode];
  return hidden;
}

const none: readonly string[] = [];
const eventAlone: readonly string[] = ["event"];

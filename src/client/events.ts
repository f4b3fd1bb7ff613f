// Printed by `npm run docs` from `src/log/events.ts`; edit that instead.

export type ConfigProblem = {
  file?: string;
  line?: number;
  column?: number;
  field?: string;
  from?: string;
  why: string;
};

/** Every event of the server's own life, and every change that callers make, with the fields that its log entry has beside `event`. */
export interface ServerEvents {
  /** The server was asked to stop. It keeps serving for `drain_ms` (`drain_seconds`). */
  "server.stopping": { signal: string; drain_ms: number };
  /** An update is in place; the server restarts after this delay. */
  "server.restart_scheduled": { delay_ms: number };
  /** The server restarts into the binary of an update. */
  "server.restarting": Record<never, never>;
  /** The server accepts connections at `url`. */
  "listener.bound": { url: string; transport: "tcp" | "unix" };
  /** The server closed `url`, for a stop or a new address, before `requests` HTTP requests and the calls on `sockets` WebSockets had finished. Their connections were closed. */
  "listener.cut_off": { url: string; requests: number; sockets: number };
  /** One of the server's processes ended unexpectedly. The others continue, and it is started again after `restart_ms`. */
  "process.ended": { of: number; pid: number; code: number | null; signal: string | null; restart_ms: number };
  /** A process that had ended is serving again. */
  "process.started": { of: number; pid: number };
  /** A new process replaced an old one, for an update or a reload. */
  "process.replaced": { of: number; pid: number; version: string };
  /** A new process could not be started to replace an old one; the old one continues. */
  "process.not_replaced": { of: number; reason: string };
  /** A process did not answer the supervisor for `silent_ms`. It is killed, and another one is started. */
  "process.silent": { of: number; pid: number; silent_ms: number };
  /** A process did not end within `stop_ms` after it was asked to, so it was killed. */
  "process.killed": { of: number; pid: number; stop_ms: number };
  /** The process has run out of file descriptors; new connections wait. */
  "descriptors.exhausted": { idle_connections_closed: number };
  /** File descriptors are available again. */
  "descriptors.available": Record<never, never>;
  /** A reload changed these `keys`, and with them these `parts` of the server. */
  "config.applied": { path: string; parts: string[]; keys: string[] };
  /** A reload found no changes. */
  "config.unchanged": { path: string };
  /** A reload failed; the server continues with the previous configuration. `problems` lists the mistakes in the file, and `kind` is the kind of the error (docs/errors.md). */
  "config.refused": { path: string; reason: string; kind?: string; problems: ConfigProblem[] };
  /** A reload ended early because the server stops. */
  "config.abandoned": Record<never, never>;
  /** A key is valid but probably does not do what was intended. */
  "config.warning": { key: string; why: string; line?: number; column?: number };
  /** Logged at the start: these `keys` have the values of environment variables or options, not those in the file. `from` names them in the same order. */
  "config.overridden": { keys: string[]; from: string[] };
  /** A crash had interrupted an edit of the configuration, and the server finished it. */
  "config.recovered": { path: string };
  /** The database is in use. */
  "database.opened": { config: string; database: string; static_path: string; files?: string };
  /** One migration of the database schema was applied. */
  "database.migrated": { version: string };
  /** A newer version of node-server (`by`) has applied these migrations. This version does not have them but can work with them. */
  "database.schema_newer": { migrations: string[]; by?: string };
  /** Another node has applied a migration that this version cannot work with. This node is not ready until it is updated. */
  "database.schema_refused": { migration: string; by?: string };
  /** This version can work with the schema of the database again. */
  "database.schema_accepted": Record<never, never>;
  /** The database cannot be reached, or its file is missing. Calls that need it fail. */
  "database.lost": { database: string; reason: string };
  /** The database can be used again. */
  "database.restored": { database: string; lost_ms: number };
  /** PostgreSQL did not answer a statement in time; the server replaces its connections. */
  "database.silent": { timeout_ms: number };
  /** The database refuses writes; every change fails. */
  "database.write_failed": { reason: string };
  /** The database accepts writes again. */
  "database.write_restored": Record<never, never>;
  /** The blob store has lost the content of a file, or holds it damaged. Requests for the file fail until it is restored from a backup or uploaded again. */
  "blob.missing": { bucket: string; path: string; blob: string };
  /** A crash had interrupted the publication of a deploy; the server finished it or took it back. `published` says whether the deploy is now published; `path` is the path of its bucket. */
  "deploy.settled": { path: string; deploy: string; published: boolean };
  /** Old deploys could not be removed, or a publication that a crash interrupted could not be settled. The server tries again at the next call about deploys of the bucket. */
  "deploy.work_failed": { reason: string };
  /** The file store (`[files] url`) does not know `count` buckets, of which `buckets` are the first. Their files are in another store; `node-server migrate --files` copies them. */
  "store.buckets_missing": { url: string; buckets: string[]; count: number };
  /** The folder of the buckets (`static_path`) is missing, cannot be written or is on a full disk, or the file store (`[files] url`) cannot be used. Requests for files may fail. */
  "store.lost": { static_path?: string; url?: string; reason: string };
  /** The file store (`[files] url`) failed a request, which was answered with 502 or 503. Logged at most once a minute, and not while the store is lost (`store.lost`). */
  "store.request_failed": { reason: string };
  /** The folder of the buckets, or the file store, can be used again. */
  "store.restored": { static_path?: string; url?: string; lost_ms: number };
  /** The server removed resumable uploads that were not finished within 24 hours, and remains of uploads to deleted buckets. */
  "upload.expired": { removed: number };
  /** The remains of a resumable upload could not be removed; the server tries again within an hour. The file of a finished upload is in place. */
  "upload.work_failed": { reason: string };
  /** The cache folder (`cache_path`) cannot be written, or its disk is full. Files are sent from the object store. */
  "cache.failed": { cache_path: string; reason: string };
  /** Files are cached again. */
  "cache.restored": { cache_path: string };
  /** The daily maintenance of an object store is done. It deleted expired rows of removed files, unreferenced blobs and unfinished uploads, and wrote a manifest of each bucket. */
  "files.swept": { purged_rows: number; deleted_blobs: number; deleted_bytes: number; unfinished: number; manifests: number; elapsed_ms: number };
  /** The daily maintenance of an object store failed; the server tries again after `retry_ms`. */
  "files.care_failed": { reason: string; retry_ms: number };
  /** A plain file or folder was deleted or replaced without a copy in the trash (`keep_removed_days`). Its path is too long for the trash, or the disk was full. */
  "trash.skipped": { bucket: string; path: string; reason: string };
  /** Plain files that had been in the trash for `keep_removed_days` were deleted for good. */
  "trash.purged": { purged: number; elapsed_ms: number };
  /** The trash of plain files could not be purged; the server tries again after `retry_ms`. */
  "trash.purge_failed": { reason: string; retry_ms: number };
  /** Another live node, one of `others`, has the same `server_uuid`, usually because its configuration was copied. Logged once for each occurrence. */
  "nodes.same_uuid": { uuid: string; others: string[] };
  /** Other nodes on the same database, `others`, use another file store, or all nodes keep plain files, which cannot be shared. Each node serves its own files. Logged once for each occurrence. */
  "nodes.files_not_shared": { others: string[] };
  /** The link key cannot be read or created, so signed links cannot be made or used. */
  "links.no_key": Record<never, never>;
  /** The node's link key is not the key that the database belongs to. Links that other nodes made do not work on this node, and it makes none while another node runs. Logged once for each start. */
  "links.other_key": Record<never, never>;
  /** Audit entries were not stored in the database, because it was away for too long; `dropped` is their number. The outputs of the log had them. */
  "audit.dropped": { dropped: number };
  /** The last run of this server did not end by a stop: it was killed, or the machine was. Or the database did not answer while it stopped. */
  "server.crashed": Record<never, never>;
  /** A release is being downloaded. Logged again with the progress, at most once a second. */
  "update.downloading": { tag: string; bytes?: number; total?: number; percent?: number };
  /** The downloaded binary is started once as a test. */
  "update.testing": { tag: string };
  /** The new binary is in place; the restart follows. */
  "update.installed": { tag: string; bytes: number; signed: boolean };
  /** The update failed and changed nothing. `code` is `data.reason` of the error, if it has one. */
  "update.failed": { tag: string; reason: string; code?: string };
  /** The new binary could not be executed; the old one keeps running. */
  "update.not_started": { reason: string };
  /** The new version has started. */
  "update.completed": { from: string; to: string };
  /** The new version did not start, so the previous version runs again. `backup` is the backup that the new version made before a migration, if it made one. */
  "update.reverted": { failed: string; running: string; backup?: string };
  /** The server made a backup by itself: because of `backup_every`, or before the migration that `before` names. `left_out` counts existing things that the backup does not contain. */
  "backup.made": { path: string; bytes: number; elapsed_ms: number; left_out: number; before?: string };
  /** The server could not make a backup; it tries again after `retry_ms`. */
  "backup.failed": { folder: string; reason: string; retry_ms: number };
  /** A webhook did not take an event. `reason` is `status`, `redirect`, `timeout`, or why there was no connection. The server tries again after `retry_ms`, and logs only the first failure in a row. */
  "hook.failed": { hook: string; url: string; reason: string; status?: number; retry_ms: number };
  /** A webhook takes events again. */
  "hook.restored": { hook: string; url: string };
  /** An event for a webhook is given up: the receiver has refused it three times, or it is three days old. */
  "hook.given_up": { hook: string; id: string; type: string };
  /** New events of a webhook are lost until fewer than `limit` wait. */
  "hook.full": { hook: string; limit: number };
  /** The certificate of the listener, or one in its chain, expires within 14 days. Logged at the start, after a reload and once a day. */
  "certificate.expiring": { expires: string };
  /** The certificate of the listener, or one in its chain, has expired. Clients refuse it. */
  "certificate.expired": { expires: string };
  /** The server got a certificate for the host name `name` from the certificate authority `issuer`, and uses it. */
  "certificate.issued": { name: string; issuer: string; expires: string };
  /** The server got no certificate for the host name `name`. `reason` is a code of [operate.md](operate.md#certificates-by-themselves); it tries again after `retry_ms`. A certificate that is in force stays. */
  "certificate.failed": { name: string; reason: string; detail: string; retry_ms: number };
  /** The server cannot read or store certificates. Those in force stay. */
  "certificates.failed": { reason: string };
  /** The access log cannot be written. Requests are answered as before. */
  "access_log.failed": { path: string; reason: string };
  /** The access log is written again; `dropped` lines were lost. */
  "access_log.restored": { path: string; dropped: number };
  /** A token was created. */
  "token.created": { token_key?: string; username?: string; address: string; target_key: string };
  /** The limits of a token were replaced. */
  "token.edited": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token was deleted. */
  "token.deleted": { token_key?: string; username?: string; address: string; target_key: string };
  /** The password of a token was changed. */
  "token.password_changed": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token got a new secret. With `by`, the command of that name gave the Super Token a new key, secret and password, on the server's machine at the time `at`. */
  "token.secret_rolled": { token_key?: string; username?: string; address: string; target_key: string; by?: "roll-super-token"; at?: string };
  /** A person signed in with a user name and a password, and got a session. `device` is what the client says that it is. */
  "session.begun": { token_key?: string; username?: string; address: string; device?: string };
  /** A person signs in with codes of an app, too. */
  "second_factor.turned_on": { token_key?: string; username?: string; address: string; target_key: string };
  /** A person signs in without codes of an app again. */
  "second_factor.turned_off": { token_key?: string; username?: string; address: string; target_key: string };
  /** Sessions of a token were ended; `count` is their number. */
  "session.ended": { token_key?: string; username?: string; address: string; target_key: string; count: number };
  /** A bucket was created. */
  "bucket.created": { token_key?: string; username?: string; address: string; bucket: string; settings: { [name: string]: unknown } };
  /** The listed `settings` of a bucket were changed. */
  "bucket.updated": { token_key?: string; username?: string; address: string; bucket: string; settings: { [name: string]: unknown } };
  /** A bucket was deleted; its files stay where they are. With `files`, its files, deploys and kept versions were deleted too. */
  "bucket.deleted": { token_key?: string; username?: string; address: string; bucket: string; files?: true };
  /** A file was written. One entry about files can stand for `count` files. Of one call, `path` is the first of them, and `paths` are the first ten. In the memory of the log, they are below `folder`, and `path` is the last of them. */
  "file.written": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; bytes: number };
  /** A file, or a folder with its content, was deleted. `failures` is the number of entries that could not be deleted. */
  "file.deleted": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; failures?: number };
  /** A file or a folder was moved to `to`. */
  "file.moved": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; to: string; failures?: number };
  /** A file or a folder was copied to `to`. */
  "file.copied": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; to: string; failures?: number };
  /** A version of a file, or a deleted folder, was restored. `version` is the change that had removed it; `from` is its former path, if that was different. */
  "file.restored": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; version: number; from?: string; failures?: number };
  /** All kept versions of deleted and replaced files of a bucket were purged; `versions` is their number. */
  "file.purged": { token_key?: string; username?: string; address: string; bucket: string; versions: number };
  /** Properties or times of a file or a folder were changed. */
  "file.described": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[] };
  /** A folder was created. */
  "folder.created": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[] };
  /** A program began to change the site of a bucket as a whole; `what` names it, such as `push`. */
  "transfer.begun": { token_key?: string; username?: string; address: string; bucket: string; what: string };
  /** A program finished changing the site of a bucket as a whole. */
  "transfer.ended": { token_key?: string; username?: string; address: string; bucket: string };
  /** A signed link was made. It is valid until `expires`; `link` is its id, if it is stored. */
  "link.made": { token_key?: string; username?: string; address: string; bucket: string; path: string; kind: "download" | "upload" | "zip"; expires: number; link?: string };
  /** A signed link was used: a stored link for a download, or any link for an upload. `token_key` is the token that made the link, `address` the client that used it. */
  "link.used": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; paths?: string[]; kind: "download" | "upload" | "zip"; link?: string };
  /** The secret of signed links was replaced, which ended all links and previews of all buckets. */
  "link.secret_rolled": { token_key?: string; username?: string; address: string };
  /** A signed link was revoked; without `link`, all links of the bucket were. */
  "link.revoked": { token_key?: string; username?: string; address: string; bucket: string; link?: string };
  /** A deploy was begun. */
  "deploy.begun": { token_key?: string; username?: string; address: string; bucket: string; deploy: string };
  /** A deploy reused `taken` files whose content the bucket already had. */
  "deploy.filled": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; taken: number };
  /** The changes of a deploy were listed, so it accepts no more files. */
  "deploy.closed": { token_key?: string; username?: string; address: string; bucket: string; deploy: string };
  /** A preview address of a deploy was made. It is valid until `expires` (Unix milliseconds). */
  "deploy.shown": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; expires: number };
  /** A deploy was published; `replaced` is the deploy that was published before. */
  "deploy.published": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; replaced?: string };
  /** An earlier deploy was published again; `replaced` is the deploy that was published before. */
  "deploy.rolled_back": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; replaced?: string };
  /** A deploy and its files were deleted. */
  "deploy.deleted": { token_key?: string; username?: string; address: string; bucket: string; deploy: string };
  /** The configuration file was replaced. */
  "config.edited": { token_key?: string; username?: string; address: string };
  /** A test event for a webhook was asked for. */
  "hook.tested": { token_key?: string; username?: string; address: string; hook: string };
  /** A new certificate was asked for before its time. */
  "certificate.requested": { token_key?: string; username?: string; address: string; name: string };
  /** SQL that can write was run. `statements` are the first words of its statements. If the outcome is `failed`, some of them may have been committed before the failure. */
  "sql.executed": { token_key?: string; username?: string; address: string; statements: string[]; outcome: "succeeded" | "failed" };
  /** A release was installed; the restart follows. */
  "update.requested": { token_key?: string; username?: string; address: string; tag: string };
  /** Credentials were refused. There is at most one entry in ten seconds for a name at an address: `count` is the number of failures, `reason` that of the last one. With `link`, the password of that signed link was wrong. With `other_names`, the failures are of several names, and none is shown. With `other_addresses`, they are from several addresses too, and the last one is shown. */
  "sign_in.failed": { token_key?: string; username?: string; address: string; link?: string; reason: "invalid_credentials" | "expired" | "not_yet_valid" | "wrong_code" | "too_many_codes"; count: number; other_names?: true; other_addresses?: true };
  /** A reader of the log, or the log file, was too slow and lost `dropped` entries. Only that reader gets this entry. */
  "log.dropped": { dropped: number };
  /** The server ends a log stream. Only its reader gets this entry, as the last one. */
  "log.ended": { reason: string };
}

/** The code of every event, with the level of its log entry. */
export const serverEvents = {
  "server.stopping": "INFO",
  "server.restart_scheduled": "INFO",
  "server.restarting": "INFO",
  "listener.bound": "INFO",
  "listener.cut_off": "WARN",
  "process.ended": "ERROR",
  "process.started": "INFO",
  "process.replaced": "INFO",
  "process.not_replaced": "ERROR",
  "process.silent": "ERROR",
  "process.killed": "ERROR",
  "descriptors.exhausted": "ERROR",
  "descriptors.available": "INFO",
  "config.applied": "INFO",
  "config.unchanged": "INFO",
  "config.refused": "ERROR",
  "config.abandoned": "INFO",
  "config.warning": "WARN",
  "config.overridden": "INFO",
  "config.recovered": "WARN",
  "database.opened": "INFO",
  "database.migrated": "INFO",
  "database.schema_newer": "WARN",
  "database.schema_refused": "ERROR",
  "database.schema_accepted": "INFO",
  "database.lost": "ERROR",
  "database.restored": "INFO",
  "database.silent": "WARN",
  "database.write_failed": "ERROR",
  "database.write_restored": "INFO",
  "blob.missing": "ERROR",
  "deploy.settled": "WARN",
  "deploy.work_failed": "WARN",
  "store.buckets_missing": "WARN",
  "store.lost": "ERROR",
  "store.request_failed": "WARN",
  "store.restored": "INFO",
  "upload.expired": "INFO",
  "upload.work_failed": "WARN",
  "cache.failed": "WARN",
  "cache.restored": "INFO",
  "files.swept": "INFO",
  "files.care_failed": "ERROR",
  "trash.skipped": "WARN",
  "trash.purged": "INFO",
  "trash.purge_failed": "ERROR",
  "nodes.same_uuid": "WARN",
  "nodes.files_not_shared": "WARN",
  "links.no_key": "WARN",
  "links.other_key": "WARN",
  "audit.dropped": "WARN",
  "server.crashed": "WARN",
  "update.downloading": "INFO",
  "update.testing": "INFO",
  "update.installed": "INFO",
  "update.failed": "ERROR",
  "update.not_started": "ERROR",
  "update.completed": "INFO",
  "update.reverted": "ERROR",
  "backup.made": "INFO",
  "backup.failed": "ERROR",
  "hook.failed": "WARN",
  "hook.restored": "INFO",
  "hook.given_up": "WARN",
  "hook.full": "WARN",
  "certificate.expiring": "WARN",
  "certificate.expired": "ERROR",
  "certificate.issued": "INFO",
  "certificate.failed": "WARN",
  "certificates.failed": "ERROR",
  "access_log.failed": "ERROR",
  "access_log.restored": "INFO",
  "token.created": "INFO",
  "token.edited": "INFO",
  "token.deleted": "INFO",
  "token.password_changed": "INFO",
  "token.secret_rolled": "INFO",
  "session.begun": "INFO",
  "second_factor.turned_on": "INFO",
  "second_factor.turned_off": "INFO",
  "session.ended": "INFO",
  "bucket.created": "INFO",
  "bucket.updated": "INFO",
  "bucket.deleted": "INFO",
  "file.written": "INFO",
  "file.deleted": "INFO",
  "file.moved": "INFO",
  "file.copied": "INFO",
  "file.restored": "INFO",
  "file.purged": "INFO",
  "file.described": "INFO",
  "folder.created": "INFO",
  "transfer.begun": "INFO",
  "transfer.ended": "INFO",
  "link.made": "INFO",
  "link.used": "INFO",
  "link.secret_rolled": "INFO",
  "link.revoked": "INFO",
  "deploy.begun": "INFO",
  "deploy.filled": "INFO",
  "deploy.closed": "INFO",
  "deploy.shown": "INFO",
  "deploy.published": "INFO",
  "deploy.rolled_back": "INFO",
  "deploy.deleted": "INFO",
  "config.edited": "INFO",
  "hook.tested": "INFO",
  "certificate.requested": "INFO",
  "sql.executed": "INFO",
  "update.requested": "INFO",
  "sign_in.failed": "INFO",
  "log.dropped": "WARN",
  "log.ended": "WARN",
} as const;

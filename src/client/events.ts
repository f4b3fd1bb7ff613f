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
  /** The server was asked to stop; it goes on serving for `drain_ms` (`drain_seconds`). */
  "server.stopping": { signal: string; drain_ms: number };
  /** An update is in place; the server restarts after this delay. */
  "server.restart_scheduled": { delay_ms: number };
  /** The server restarts into the binary of an update. */
  "server.restarting": Record<never, never>;
  /** The server accepts connections at `url`. */
  "listener.bound": { url: string; transport: "tcp" | "unix" };
  /** The server closed `url` (a stop, or a new address) while these HTTP requests, and calls on these WebSockets, had not finished in time; their connections were closed. */
  "listener.cut_off": { url: string; requests: number; sockets: number };
  /** One of the server's processes ended without being asked to; the others go on. It is started again after `restart_ms`. */
  "process.ended": { of: number; pid: number; code: number | null; signal: string | null; restart_ms: number };
  /** A process that had ended serves again. */
  "process.started": { of: number; pid: number };
  /** A new process has taken the place of one that runs no more, for an update or a reload. */
  "process.replaced": { of: number; pid: number; version: string };
  /** No new process could be started in the place of one; the old one goes on. */
  "process.not_replaced": { of: number; reason: string };
  /** A process did not answer the supervisor for `silent_ms` and is killed; another one is started. */
  "process.silent": { of: number; pid: number; silent_ms: number };
  /** A process did not end within `stop_ms` after it was asked to, and was killed. */
  "process.killed": { of: number; pid: number; stop_ms: number };
  /** No file descriptor is left; new connections wait. */
  "descriptors.exhausted": { idle_connections_closed: number };
  /** File descriptors are available again. */
  "descriptors.available": Record<never, never>;
  /** A reload changed these keys, and with them these parts of the server. */
  "config.applied": { path: string; parts: string[]; keys: string[] };
  /** A reload found nothing that changed. */
  "config.unchanged": { path: string };
  /** A reload failed; the server continues with the previous configuration. `problems` lists what is wrong with the file, and `kind` is that of the error (docs/errors.md). */
  "config.refused": { path: string; reason: string; kind?: string; problems: ConfigProblem[] };
  /** A reload ended early because the server stops. */
  "config.abandoned": Record<never, never>;
  /** A key is valid, but probably does not do what was intended. */
  "config.warning": { key: string; why: string; line?: number; column?: number };
  /** At the start: `keys` have the values of these environment variables or options (`from`, in the same order), not those in the file. */
  "config.overridden": { keys: string[]; from: string[] };
  /** An edit of the configuration that a crash had interrupted was finished. */
  "config.recovered": { path: string };
  /** The database is in use. */
  "database.opened": { config: string; database: string; static_path: string; files?: string };
  /** One migration of the database schema was applied. */
  "database.migrated": { version: string };
  /** A newer version of node-server, `by`, has applied these migrations, which this version does not have but can work with. */
  "database.schema_newer": { migrations: string[]; by?: string };
  /** Another node has applied a migration that this version cannot work with: the node is not ready until it is updated. */
  "database.schema_refused": { migration: string; by?: string };
  /** The schema of the database is one again that this version can work with. */
  "database.schema_accepted": Record<never, never>;
  /** The database cannot be reached, or its file is missing; calls that need it fail. */
  "database.lost": { database: string; reason: string };
  /** The database can be used again. */
  "database.restored": { database: string; lost_ms: number };
  /** PostgreSQL did not answer a statement; its connections are replaced. */
  "database.silent": { answer_timeout_ms: number };
  /** The database accepts no writes; every change fails. */
  "database.write_failed": { reason: string };
  /** The database accepts writes again. */
  "database.write_restored": Record<never, never>;
  /** The database names content that the blob store does not hold, or holds damaged; requests for the file fail until it is restored from a backup or uploaded again. */
  "blob.missing": { bucket: string; path: string; blob: string };
  /** A crash interrupted the publication of a deploy; what it left was put in order. `published` says whether the deploy is the published one now, and `path` is that of its bucket. */
  "deploy.settled": { path: string; deploy: string; published: boolean };
  /** Deploys that are kept no more could not be removed, or a publication that a crash interrupted could not be settled; that is tried again with the next call about deploys of the bucket. */
  "deploy.work_failed": { reason: string };
  /** The store of the files (`[files] url`) has no place for `count` buckets, of which `buckets` are the first: their files are in another store. `node-server migrate --files` copies them. */
  "store.buckets_missing": { url: string; buckets: string[]; count: number };
  /** The folder of the buckets (`static_path`) is missing, cannot be written, or its disk is full, or the store of their files (`[files] url`) cannot be used; requests for files may fail. */
  "store.lost": { static_path?: string; url?: string; reason: string };
  /** The store of the files (`[files] url`) failed a request, which was answered with 502 or 503. At most one line a minute, and none while the store is lost (`store.lost`). */
  "store.request_failed": { reason: string };
  /** The folder of the buckets, or the store of their files, can be used again. */
  "store.restored": { static_path?: string; url?: string; lost_ms: number };
  /** Resumable uploads that were not finished within 24 hours, and what is left of uploads to deleted buckets, were removed. */
  "upload.expired": { removed: number };
  /** What a resumable upload left could not be removed; that is tried again within an hour. The file of a finished upload is in place. */
  "upload.work_failed": { reason: string };
  /** The folder of the cache (`cache_path`) cannot be written, or its disk is full; files are sent from the object store. */
  "cache.failed": { cache_path: string; reason: string };
  /** Files are cached again. */
  "cache.restored": { cache_path: string };
  /** The daily care of an object store is done: rows of removed files whose time has passed, blobs that nothing names and unfinished uploads were deleted, and a manifest of each bucket was written. */
  "files.swept": { purged_rows: number; deleted_blobs: number; deleted_bytes: number; unfinished: number; manifests: number; elapsed_ms: number };
  /** The daily care of an object store failed; it is tried again after `retry_ms`. */
  "files.care_failed": { reason: string; retry_ms: number };
  /** A plain file or folder was deleted or replaced without being kept in the trash (`trash_days`): its path is too long for the trash, or it was deleted on a full disk. */
  "trash.skipped": { bucket: string; path: string; reason: string };
  /** What had been in the trash of plain files for `trash_days` was deleted. */
  "trash.purged": { purged: number; elapsed_ms: number };
  /** The trash of plain files could not be purged; it is tried again after `retry_ms`. */
  "trash.purge_failed": { reason: string; retry_ms: number };
  /** Another node that is alive, one of `others`, has the same `server_uuid`: a copied configuration brings it along. Once for each occurrence. */
  "nodes.same_uuid": { uuid: string; others: string[] };
  /** Other nodes on the same database, `others`, have another store of files, or all keep plain files, which cannot be shared: each serves its own files. Once for each occurrence. */
  "nodes.files_not_shared": { others: string[] };
  /** The link key can neither be read nor created, so no signed link can be made or used. */
  "links.no_key": Record<never, never>;
  /** The database belongs to another link key than the node has: links that other nodes made do not work on this one, and it makes none while another node runs. Once for each start. */
  "links.other_key": Record<never, never>;
  /** A release is being downloaded; repeated with the progress, at most once a second. */
  "update.downloading": { tag: string; bytes?: number; total?: number; percent?: number };
  /** The downloaded binary is started once as a test. */
  "update.testing": { tag: string };
  /** The new binary is in place; the restart follows. */
  "update.installed": { tag: string; bytes: number; signed: boolean };
  /** The update failed and changed nothing. `code` is `data.reason` of the error, if it has one. */
  "update.failed": { tag: string; reason: string; code?: string };
  /** The new binary could not be executed; the old one continues to run. */
  "update.not_started": { reason: string };
  /** The new version has started. */
  "update.completed": { from: string; to: string };
  /** The new version did not start; the previous version runs again. `backup` is the copy of the database from before its migration, if it made one. */
  "update.reverted": { failed: string; running: string; backup?: string };
  /** The server made a backup by itself: by `backup_every`, or before the migration that `before` names. `left_out` counts what the backup does not contain although it exists. */
  "backup.made": { path: string; bytes: number; elapsed_ms: number; left_out: number; before?: string };
  /** No backup could be made; the server tries again after `retry_ms`. */
  "backup.failed": { folder: string; reason: string; retry_ms: number };
  /** The certificate of the listener, or one of its chain, ends within 14 days. Logged at the start, after a reload and once a day. */
  "certificate.expiring": { expires: string };
  /** The certificate of the listener, or one of its chain, has expired: clients refuse it. */
  "certificate.expired": { expires: string };
  /** The access log cannot be written, or not be put aside; requests are answered as before. */
  "access_log.failed": { path: string; reason: string };
  /** The access log is written again; `dropped` lines are missing. */
  "access_log.restored": { path: string; dropped: number };
  /** A token was created. */
  "token.created": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token got other limits. */
  "token.edited": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token was deleted. */
  "token.deleted": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token got another password. */
  "token.password_changed": { token_key?: string; username?: string; address: string; target_key: string };
  /** A token got another secret. With `by`, the command of that name gave the Super Token a new key, secret and password on the machine itself, at the time `at`. */
  "token.secret_rolled": { token_key?: string; username?: string; address: string; target_key: string; by?: "roll-super-token"; at?: string };
  /** A bucket was created. */
  "bucket.created": { token_key?: string; username?: string; address: string; bucket: string; settings: { [name: string]: unknown } };
  /** These settings of a bucket were changed. */
  "bucket.updated": { token_key?: string; username?: string; address: string; bucket: string; settings: { [name: string]: unknown } };
  /** A bucket was deleted; its files stay where they are. With `files`, its files, deploys and kept versions were deleted, too. */
  "bucket.deleted": { token_key?: string; username?: string; address: string; bucket: string; files?: true };
  /** A file was written. In the memory of the log, one entry about files may stand for `count` of them, all below `folder`; `path` is the last one. */
  "file.written": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; bytes: number };
  /** A file was deleted, or a folder with its content. `failures` could not be. */
  "file.deleted": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; failures?: number };
  /** A file or a folder was moved to `to`. */
  "file.moved": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; to: string; failures?: number };
  /** A file or a folder was copied to `to`. */
  "file.copied": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; to: string; failures?: number };
  /** A version of a file, or a deleted folder, was put back; `version` is the change that had removed it, and `from` the path that it had, if that was another. */
  "file.restored": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; version: number; from?: string };
  /** Everything that was kept of deleted and replaced files of a bucket was purged; `versions` is how many there were. */
  "file.purged": { token_key?: string; username?: string; address: string; bucket: string; versions: number };
  /** Properties or times of a file or a folder were changed. */
  "file.described": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string };
  /** A folder was created. */
  "folder.created": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string };
  /** A program began to change the site of a bucket as a whole, as `push` does. */
  "transfer.begun": { token_key?: string; username?: string; address: string; bucket: string; what: string };
  /** It has ended that. */
  "transfer.ended": { token_key?: string; username?: string; address: string; bucket: string };
  /** A signed link was made; it is good until `expires`. `link` is its id, if it is stored. */
  "link.made": { token_key?: string; username?: string; address: string; bucket: string; path: string; kind: "download" | "upload" | "zip"; expires: number; link?: string };
  /** A file was read by a link that is counted or has a password, or uploaded by a link. `token_key` is the token that made the link, `address` the client that used it. */
  "link.used": { token_key?: string; username?: string; address: string; bucket: string; path: string; count?: number; folder?: string; kind: "download" | "upload" | "zip"; link?: string };
  /** The secret of all signed links was replaced, which ended all links of all buckets. */
  "link.secret_rolled": { token_key?: string; username?: string; address: string };
  /** A signed link was revoked, or without `link` all links of the bucket. */
  "link.revoked": { token_key?: string; username?: string; address: string; bucket: string; link?: string };
  /** A deploy was begun. */
  "deploy.begun": { token_key?: string; username?: string; address: string; bucket: string; deploy: string };
  /** `taken` files that the bucket has were taken over into a deploy. */
  "deploy.filled": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; taken: number };
  /** An address was made at which a deploy can be seen, until `expires` (Unix milliseconds). */
  "deploy.shown": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; expires: number };
  /** A deploy was published; `replaced` is the one that was published before. */
  "deploy.published": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; replaced?: string };
  /** An earlier deploy was published again; `replaced` is the one that was published before. */
  "deploy.rolled_back": { token_key?: string; username?: string; address: string; bucket: string; deploy: string; replaced?: string };
  /** A deploy was deleted, with its files. */
  "deploy.deleted": { token_key?: string; username?: string; address: string; bucket: string; deploy: string };
  /** The configuration file was replaced. */
  "config.edited": { token_key?: string; username?: string; address: string };
  /** SQL that can write was run. `statements` are the first words of its statements; those of one that failed may have been committed before the failure. */
  "sql.executed": { token_key?: string; username?: string; address: string; statements: string[]; outcome: "succeeded" | "failed" };
  /** A release was installed; the restart follows. */
  "update.requested": { token_key?: string; username?: string; address: string; tag: string };
  /** Credentials were refused. Of one name at one address one entry is made in ten seconds; `count` says how many failures it stands for, and `reason` is that of the last one. With `link` the password of that signed link was wrong. With `other_names` they are of several names and none is shown; with `other_addresses` they are of several addresses too, and that of the last one is shown. */
  "sign_in.failed": { token_key?: string; username?: string; address: string; link?: string; reason: "invalid_credentials" | "expired" | "not_yet_valid"; count: number; other_names?: true; other_addresses?: true };
  /** A reader of the log, or the log file, was too slow for this many entries. Only that reader gets this entry. */
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
  "update.downloading": "INFO",
  "update.testing": "INFO",
  "update.installed": "INFO",
  "update.failed": "ERROR",
  "update.not_started": "ERROR",
  "update.completed": "INFO",
  "update.reverted": "ERROR",
  "backup.made": "INFO",
  "backup.failed": "ERROR",
  "certificate.expiring": "WARN",
  "certificate.expired": "ERROR",
  "access_log.failed": "ERROR",
  "access_log.restored": "INFO",
  "token.created": "INFO",
  "token.edited": "INFO",
  "token.deleted": "INFO",
  "token.password_changed": "INFO",
  "token.secret_rolled": "INFO",
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
  "deploy.shown": "INFO",
  "deploy.published": "INFO",
  "deploy.rolled_back": "INFO",
  "deploy.deleted": "INFO",
  "config.edited": "INFO",
  "sql.executed": "INFO",
  "update.requested": "INFO",
  "sign_in.failed": "INFO",
  "log.dropped": "WARN",
  "log.ended": "WARN",
} as const;

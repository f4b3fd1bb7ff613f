// Printed by `npm run docs` from the declarations; edit those instead.

export type AuditEntry = { timestamp: string; level: "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE"; target: string; message: string; fields: { [name: string]: unknown }; spans: { name: string; fields: string }[]; id: string; node: string };

export type Bucket = { id: number; name: string; path: string; is_http_root: boolean; cors: boolean; enable: boolean; public?: false; hosts?: string[]; clean_urls?: true };

export type BucketEvent = { event: "created" | "changed" | "moved" | "deleted" | "published" | "reset"; cursor: string; path?: string; from?: string; folder?: true; deploy?: string; by?: string; at?: number; reason?: "begun" | "not_kept" | "slow" | "lost" };

export type BucketSite = { enable: boolean; public: boolean; is_http_root: boolean; hosts: string[] };

export type BucketUsage = { files: number; bytes: number; newest: number | null };

export type Certificate = { name: string; of: "server" | "bucket"; state: "waiting" | "issuing" | "issued" | "failed"; issuer: string | null; from: number | null; until: number | null; renew_at: number | null; problem: { reason: string; detail: string; advice: string; at: number; retry_at: number } | null };

export type ClusterNode = { uuid: string; boot: string; name: string; url: string | null; version: string; since: number; last_seen: number; alive: boolean; ready: boolean; files: string; processes: number };

export type ConfigKey = { table?: string; is_repeated: boolean; name: string; type: string; description: string; is_required: boolean; default?: string; choices: string[]; minimum?: number; maximum?: number; example?: string };

export type ConfigWarning = { field: string; why: string; line?: number; column?: number };

export type Deploy = { deploy: string; state: "open" | "ready" | "published" | "previous"; made_at: number; by: string; note: string; preview: string | null; files: number | null; bytes: number | null; published_at: number | null; changed: boolean };

export type DeployCheck = { added: number; changed: number; removed: number; unchanged: number; files: { path: string; change: "added" | "changed" | "removed"; bytes: number }[]; problems: { file: "_headers" | "_redirects"; line: number; level: "error" | "warning"; why: string }[] };

export type Effect = "reads" | "changes" | "destroys";

export type FailedPath = { path: string; kind: string; reason?: string; why: string };

export type FileVersion = { version: number; path: string; kind: "file" | "folder"; size: number; mtime: number; removed_at: number; kept_until: number; exists?: boolean };

export type FoundEntry = { path: string; kind: "file" | "folder"; size: number; mtime: number };

export type Limit = { scopes: Scope[]; permissions: Permission[] };

export type LogEntry = { timestamp: string; level: "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE"; target: string; message: string; fields: { [name: string]: unknown }; spans: { name: string; fields: string }[] };

export type MethodDescription = { name: string; tags: { name: string }[]; summary: string; description?: string; deprecated?: true; paramStructure: "either"; params: { name: string; required: boolean; schema: { [name: string]: unknown }; "x-credential"?: true }[]; result: { name: string; schema: { [name: string]: unknown } }; errors: { code: number; message: string }[]; "x-event"?: { [name: string]: unknown }; "x-need": string; "x-authorization": Requirement[]; "x-effect": Effect; "x-warning"?: string };

export type MetricFamily = { name: string; type: "counter" | "gauge" | "histogram"; help: string; samples?: { labels: { [name: string]: string }; value: number }[]; histograms?: { labels: { [name: string]: string }; count: number; sum: number; buckets: { le: number; count: number }[] }[] };

export type MetricHistory = { step_seconds: number; start: number | null; series: { [name: string]: (number | null)[] } };

export type OpenRpcDocument = { openrpc: string; info: { title: string; version: string; license: { name: string } }; methods: MethodDescription[] };

export type PathPair = { from: string; to: string };

export type Permission = { static_bucket_file: "read" | "write" | "delete" | "list" } | { static_bucket: "read" | "write" | "delete" } | { node: "exec_sql" | "get_database_type" | "list_all_agent_uuid" | "read_logs" | "read_storage" | "metrics" | "read_nodes" | "get_rt_pool" | "delete_agent_uuid" } | { monitoring_uuid: "list" | "delete" } | { token: "create" } | { db: "list" | "read" | "create" | "update" | "delete" | "exec_sql" } | { kv: string | { [name: string]: string } } | { task: string | { [name: string]: string } } | { crontab: string | { [name: string]: string } } | { crontab_result: string | { [name: string]: string } } | { terminal: string | { [name: string]: string } } | { js_worker: string | { [name: string]: string } } | { js_result: string | { [name: string]: string } } | { static_monitoring: string | { [name: string]: string } } | { dynamic_monitoring: string | { [name: string]: string } } | { dynamic_monitoring_summary: string | { [name: string]: string } };

export type PublishedDeploy = { deploy: string; replaced: string | null; problems: { file: "_headers" | "_redirects"; line: number; level: "error" | "warning"; why: string }[]; host: string | null; at_root: boolean };

export type Requirement = { kind: "anyone" | "owner" | "super" | "token" } | { kind: "all"; permissions: Permission[]; scope: { kind: "global" } | { kind: "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db"; param: string } } | { kind: "some"; permissions: Permission[]; scope: { kind: "global" } | { kind: "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db"; param: string } } | { kind: "anywhere"; permissions: Permission[] };

export type Scope = "global" | { global: null } | { static_bucket: string } | { global_static_bucket: string } | { agent_uuid: string } | { kv_namespace: string } | { js_worker: string } | { db: string };

export type SessionRecord = { id: string; device: string | null; address: string; created_at: number; last_used_at: number; expires: number; current: boolean };

export type StatusReason = { code: "database" | "schema" | "store" | "readOnly" | "draining" | "descriptors" | "connections" | "nodes"; level: "attention" | "trouble" } | { code: "disk"; level: "attention" | "trouble"; disk: string; free_bytes: number } | { code: "failing"; level: "attention" | "trouble"; share: number } | { code: "slow"; level: "attention" | "trouble"; seconds: number } | { code: "nodeLost" | "nodeNotReady" | "uncertified"; level: "attention" | "trouble"; names: string[] } | { code: "certificate"; level: "attention" | "trouble"; expires: string } | { code: "backup"; level: "attention" | "trouble"; last: string | null } | { code: "errors"; level: "attention" | "trouble"; count: number; newest: string } | { code: "signIns"; level: "attention" | "trouble"; count: number };

export type StoredLink = { id: string; kind: "download" | "upload" | "zip"; path: string; selected?: number; by: string; created: number; expires: number; state: "valid" | "used_up" | "ended"; password: boolean; note?: string; max_downloads?: number; downloads: number };

export type Token = { version: number; token_key: string; timestamp_from: number | null; timestamp_to: number | null; token_limit: unknown; username: string | null; created_by: string | null; name: string | null; created_at: number | null; last_used_at: number | null; super?: true };

export type VersionName = { version: number; path: string };

export type VersionRecord = { binary_type: string; build_time: string; cargo_target_triple: string; cargo_version: string; git_branch: string; git_commit_date: string; git_commit_message: string; git_commit_sha: string; rustc_channel: string; rustc_commit_date: string; rustc_commit_hash: string; rustc_llvm_version: string; rustc_version: string };

export type Webhook = { hook: string; url: string; events: string[]; buckets?: string[]; waiting: number; delivered: number; lost: number; delivered_at?: number; failures: number; retry_at?: number; problem?: { at: number; reason: string; status?: number } };

/** Every method of the server: what it takes and what it answers. */
export interface Methods {
  /** Returns a fixed text, to check that the server runs. */
  "node-server_hello": { readonly params: Record<never, never>; readonly result: "Node Server Is Running!"; };
  /** Returns the version, the time of the build, and the commit. */
  "node-server_version": { readonly params: Record<never, never>; readonly result: VersionRecord; };
  /** Returns the server's UUID, which `server_uuid` in the configuration sets. */
  "node-server_uuid": { readonly params: Record<never, never>; readonly result: string; };
  /** Returns how long the server has been running, in milliseconds. A self-update resets it. */
  "node-server_uptime": { readonly params: { token?: string | undefined }; readonly result: number; };
  /** Lists the agents that the token may see, sorted. */
  "node-server_list_all_agent_uuid": { readonly params: { token?: string | undefined }; readonly result: { uuids: string[] }; };
  /** Returns the configuration file as it is on disk. */
  "node-server_read_config": { readonly params: { token?: string | undefined }; readonly result: string; };
  /** Returns the keys of the configuration: their types, bounds, defaults and meanings. Values are as they are written in the file. A reload applies every key; none needs a restart. */
  "node-server_config_schema": { readonly params: { token?: string | undefined }; readonly result: ConfigKey[]; };
  /** Checks a complete configuration, with the same errors as `node-server_edit_config`, and writes nothing. `data.problems` of an error lists every mistake with its key, line and column. `warnings` lists valid settings that are probably not intended. */
  "node-server_check_config": { readonly params: { token?: string | undefined; config_string: string }; readonly result: { valid: true; warnings: ConfigWarning[] }; };
  /** Checks a complete configuration, writes it to the file, and applies it after the answer has been sent. A key that an environment variable or an option of the command line sets keeps that value. If the server cannot apply the configuration, it continues as before and logs the reason. */
  "node-server_edit_config": { readonly params: { token?: string | undefined; config_string: string }; readonly result: true; };
  /** Returns the log entries in memory, oldest first. With a filter it returns only entries that pass it. */
  "node-server_log": { readonly params: { token?: string | undefined; log_filter?: string | null | undefined }; readonly result: LogEntry[]; };
  /** Sends every new log entry that passes the filter, until the client unsubscribes. If a reader falls 512 entries behind, the server drops further entries and sends their number. */
  "node-server_stream_log": { readonly params: { token?: string | undefined; log_filter: string }; readonly result: string; readonly event: LogEntry; };
  /** Ends a log stream of this connection. Returns false if the connection has no stream with this id. */
  "node-server_unsubscribe_stream_log": { readonly params: { subscription: string }; readonly result: boolean; };
  /** Returns the type of the server's database. */
  "node-server_get_database_type": { readonly params: { token?: string | undefined }; readonly result: { success: true; data: "sqlite" | "postgres" | "mysql" | "unknown" }; };
  /** Returns the size of each table in bytes. On PostgreSQL this includes indexes and out-of-line storage; on SQLite it does not include indexes. */
  "node-server_database_storage": { readonly params: { token?: string | undefined }; readonly result: { tables: { [name: string]: number }; total: number }; };
  /** Says whether the server is well, and why not. Reasons about other nodes need `Node::ReadNodes`, too, and those about errors in the log and failed sign-ins `Node::ReadLogs`. `failing`, `slow`, `disk` and others look at the last five minutes, `errors` at the last hour, `signIns` at the last ten minutes. */
  "node-server_status": { readonly params: { token?: string | undefined }; readonly result: { verdict: "well" | "attention" | "trouble"; reasons: StatusReason[]; started: number; crashed: boolean; orders_certificates: boolean }; };
  /** Returns the metrics of `GET /node/metrics` as JSON, and their history: the last hour in steps of 10 seconds and the last day in steps of a minute, over restarts. A kill loses the last minute. Rates are per second. */
  "node-server_metrics": { readonly params: { token?: string | undefined; since?: number | null | undefined; series?: string[] | null | undefined }; readonly result: { time: number; metrics: MetricFamily[]; history: MetricHistory[] }; };
  /** Replaces the server's binary with the release `tag`, newer or older, and restarts into it 3 seconds after the answer. The process id stays the same. Nothing happens if that version already runs. The log shows the progress. */
  "node-server_self_update": { readonly params: { token?: string | undefined; tag: string }; readonly result: null; };
  /** Returns whether the release server (`release_url`) has a newer version. It is asked at most once an hour, for up to 5 seconds. If it does not answer, `problem` says why, and `latest` is its last answer, or null. `checked_at` is in Unix milliseconds. */
  "node-server_latest_release": { readonly params: { token?: string | undefined }; readonly result: { current: string; latest: string | null; newer: boolean; checked_at: number | null; problem: string | null }; };
  /** Lists the names for which the server orders certificates (`auto` in `[tls]`), sorted: `server_name`, the host of `[s3]` (with `dns_hook` also `*.` before it), and the host names of all enabled buckets. `state` is `waiting` before the first attempt, `issuing` while one is under way, `issued` once clients are shown it, or `failed` without a valid certificate. `problem` is why the last attempt failed, also while an older certificate is in force: `reason` is a code, `advice` says what to do, and the server tries again at `retry_at`. Times are in Unix milliseconds. Without `auto`, the list is empty. */
  "node-server_certificates": { readonly params: { token?: string | undefined }; readonly result: Certificate[]; };
  /** Orders a new certificate for one of the names of `node-server_certificates` now, without waiting for its time, and returns its state before that. The certificate in force stays until the new one is there. The server orders at most 4 certificates an hour for a name, so that the certificate authority does not block it; after that it refuses with the reason `limited_here`, and nothing changes. */
  "node-server_renew_certificate": { readonly params: { token?: string | undefined; name: string }; readonly result: Certificate; };
  /** Runs SQL on the main database and returns the result of the last statement. If the result has more than 10,000 rows, you get the first 10,000, and `truncated` is true; `sql_open` reads all of them. Closing the connection of the call stops the statement. Give this permission only to people you trust fully: on SQLite they can write any file that the server can write. */
  "node-server_exec_sql": { readonly params: { token?: string | undefined; sql: string; params?: unknown | undefined }; readonly result: { success: true; columns: string[]; data: { [name: string]: unknown }[]; row_count: number; truncated: boolean }; };
  /** Opens a cursor on a query, which reads any number of rows piece by piece, all as the database has them now. The query must be a single statement that returns rows, and cannot change the database. The cursor belongs to this WebSocket. It is closed with the last row, after an error, if nothing is read for a minute, an hour after it was opened, with the connection, and when its token is no longer valid. A server has at most 4 open cursors. */
  "sql_open": { readonly params: { token?: string | undefined; sql: string; params?: unknown | undefined }; readonly result: { cursor: string; columns: string[] }; };
  /** Returns the next rows of a cursor: up to 10,000, and fewer if they are large. With the last ones `done` is true, and the cursor is closed. */
  "sql_read": { readonly params: { token?: string | undefined; cursor: string }; readonly result: { data: { [name: string]: unknown }[]; done: boolean }; };
  /** Closes a cursor of this connection. Returns false if the connection has no such cursor. */
  "sql_close": { readonly params: { cursor: string }; readonly result: boolean; };
  /** Creates a bucket and its folder. `path` defaults to the name. Only the Super Token may use a folder that already contains files. */
  "static-bucket_create": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; is_http_root?: boolean | null | undefined; cors?: boolean | null | undefined; public?: boolean | null | undefined; hosts?: string[] | null | undefined; clean_urls?: boolean | null | undefined }; readonly result: Bucket; };
  /** Returns a bucket's record, or null if the bucket does not exist. */
  "static-bucket_read": { readonly params: { token?: string | undefined; name: string }; readonly result: Bucket | null; };
  /** Changes settings of a bucket; omitted settings stay as they are. With `enable: false` the bucket is not served over HTTP and WebDAV. */
  "static-bucket_update": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; is_http_root?: boolean | null | undefined; cors?: boolean | null | undefined; enable?: boolean | null | undefined; public?: boolean | null | undefined; hosts?: string[] | null | undefined; clean_urls?: boolean | null | undefined; move_http_root?: boolean | null | undefined }; readonly result: Bucket; };
  /** Deletes a bucket's record; its files stay where they are. With `files` it first deletes the files, all deploys and all kept versions, and answers when that is done. If this fails, the bucket stays, disabled: send the call again. An object store frees the space in its next daily maintenance. */
  "static-bucket_delete": { readonly params: { token?: string | undefined; name: string; files?: boolean | null | undefined }; readonly result: { success: true; files_deleted?: true }; };
  /** Lists the names of all buckets, sorted. */
  "static-bucket_list": { readonly params: { token?: string | undefined }; readonly result: string[]; };
  /** Returns what whoever works with the files of a bucket may know of its site: whether it is on, who reads it (`public` is false if reading over plain HTTP needs a token or a signed link), and where it is. Null if the bucket does not exist. */
  "static-bucket_site": { readonly params: { token?: string | undefined; name: string }; readonly result: BucketSite | null; };
  /** Returns the number of files in a bucket, their size in bytes, and the time of the latest modification (`newest`, Unix milliseconds; null without files). The server counts in the background: some seconds after its own changes, within an hour after changes by other programs. The result is null until the bucket has been counted once. */
  "static-bucket_usage": { readonly params: { token?: string | undefined; name: string }; readonly result: BucketUsage | null; };
  /** Checks the `_headers` and `_redirects` files that a bucket has now, as `static-bucket_deploy_publish` does. `line` is 0 for a problem of the whole file. A line with an `error` is not applied as written. */
  "static-bucket_site_problems": { readonly params: { token?: string | undefined; name: string }; readonly result: { file: "_headers" | "_redirects"; line: number; level: "error" | "warning"; why: string }[]; };
  /** Writes a file from `body` or `base64`. Readers see either the old file or the complete new one. Missing folders are created. */
  "static-bucket-file_upload": { readonly params: { token?: string | undefined; name: string; path: string; body?: unknown | null | undefined; base64?: string | null | undefined }; readonly result: { success: true }; };
  /** Returns the content of a file in base64. */
  "static-bucket-file_read": { readonly params: { token?: string | undefined; name: string; path: string }; readonly result: string; };
  /** Returns a small picture of an image (JPEG, PNG, WebP or GIF) as WebP in base64. It is at most `size` pixels wide and high, and not larger than the image. The server makes one at a time, of files up to 32 MiB with up to 16 million pixels (JPEG: 40 million). */
  "static-bucket-file_thumbnail": { readonly params: { token?: string | undefined; name: string; path: string; size?: number | null | undefined }; readonly result: string; };
  /** Deletes a file. Succeeds even if the file does not exist. */
  "static-bucket-file_delete": { readonly params: { token?: string | undefined; name: string; path: string }; readonly result: { success: true }; };
  /** Moves a file within its bucket and replaces an existing file at `to`. Missing folders are created. */
  "static-bucket-file_rename": { readonly params: { token?: string | undefined; name: string; from: string; to: string }; readonly result: { success: true }; };
  /** Lists all files below a folder (default: the whole bucket), sorted by path, with their size in bytes and modification time in Unix milliseconds. */
  "static-bucket-file_list": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined }; readonly result: { path: string; size: number; mtime: number }[]; };
  /** Finds files and folders whose path below `path` (default: the whole bucket) contains all words of `query`, in any order, case and Unicode form. A word with `*` or `?` is a pattern for the name; with a slash it is a pattern for the whole path below `path`. `size` is in bytes (0 for a folder), `mtime` in Unix milliseconds. `more` is true if there are more results, or if the search did not cover all paths. `complete` is false if it ended after 10 seconds or could not read a folder. */
  "static-bucket-file_search": { readonly params: { token?: string | undefined; name: string; query: string; path?: string | null | undefined; limit?: number | null | undefined; offset?: number | null | undefined }; readonly result: { entries: FoundEntry[]; more: boolean; complete: boolean; searched: number }; };
  /** Lists deleted and replaced files and folders at a path and below it (default: the whole bucket), newest first. `version` is the change of the bucket that removed the file. Times are Unix milliseconds. A version can be restored until `kept_until`, which depends on `keep_removed_days`. Versions of a moved file stay under the path that each had. */
  "static-bucket-file_history": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; limit?: number | null | undefined; after?: { version: number; path: string } | null | undefined; files_only?: boolean | null | undefined; query?: string | null | undefined; present?: boolean | null | undefined }; readonly result: FileVersion[]; };
  /** Returns the content of a version of `static-bucket-file_history` in base64. */
  "static-bucket-file_read_version": { readonly params: { token?: string | undefined; name: string; path: string; version: number }; readonly result: string; };
  /** Restores a version of `static-bucket-file_history`, at its own path or at `to`. Missing folders are created. A restored file replaces the file that exists there. A folder is restored with its content and needs a free path. A restored folder or plain file leaves the history. With `[files] url`, the version of a file stays in it. */
  "static-bucket-file_restore": { readonly params: { token?: string | undefined; name: string; path: string; version: number; to?: string | null | undefined }; readonly result: { success: true }; };
  /** Returns for how many days deleted and replaced files of a bucket can be restored; 0 means that they cannot. With `measure` it also counts the versions that can be restored now and the bytes of their files, for which it reads all of them. */
  "static-bucket-file_retention": { readonly params: { token?: string | undefined; name: string; measure?: boolean | null | undefined }; readonly result: { days: number; versions?: number; bytes?: number }; };
  /** Purges all kept versions of deleted and replaced files of a bucket, and returns their number. Plain files are deleted at once. An object store deletes their content in its next daily maintenance, unless another file has the same content. */
  "static-bucket-file_purge": { readonly params: { token?: string | undefined; name: string }; readonly result: { success: true; versions: number }; };
  /** Deletes many files, and folders with their content. `versions` are what `static-bucket-file_restore_many` takes to undo it; it is empty if the store keeps no versions. It handles them in their order and ends after 10 seconds, or when the client disconnects: `handled` says how many it has handled, so that the next call can begin there. `failed` has those that were not changed, each with its reason, such as a lock; the others are done, also if the connection is lost. */
  "static-bucket-file_delete_many": { readonly params: { token?: string | undefined; name: string; paths: string[] }; readonly result: { handled: number; done: number; failed: FailedPath[]; versions: VersionName[] }; };
  /** Moves many files and folders of a bucket, each to its path `to`. Missing folders are created. It handles them in their order and ends after 10 seconds, or when the client disconnects: `handled` says how many it has handled, so that the next call can begin there. `failed` has those that were not changed, each with its reason, such as a lock; the others are done, also if the connection is lost. */
  "static-bucket-file_move_many": { readonly params: { token?: string | undefined; name: string; moves: PathPair[]; overwrite?: boolean | null | undefined }; readonly result: { handled: number; done: number; failed: FailedPath[] }; };
  /** Copies many files, and folders with their content, in a bucket, each to its path `to`. Missing folders are created. It handles them in their order and ends after 10 seconds, or when the client disconnects: `handled` says how many it has handled, so that the next call can begin there. `failed` has those that were not changed, each with its reason, such as a lock; the others are done, also if the connection is lost. */
  "static-bucket-file_copy_many": { readonly params: { token?: string | undefined; name: string; copies: PathPair[]; overwrite?: boolean | null | undefined }; readonly result: { handled: number; done: number; failed: FailedPath[] }; };
  /** Restores many versions of `static-bucket-file_history`, each at its own path or at `to`. Missing folders are created. Nothing is replaced: a path at which something exists is reported in `failed`. It handles them in their order and ends after 10 seconds, or when the client disconnects: `handled` says how many it has handled, so that the next call can begin there. `failed` has those that were not changed, each with its reason, such as a lock; the others are done, also if the connection is lost. */
  "static-bucket-file_restore_many": { readonly params: { token?: string | undefined; name: string; versions: { version: number; path: string; to?: string | null }[] }; readonly result: { handled: number; done: number; failed: FailedPath[] }; };
  /** Begins a deploy: an empty tree beside the bucket's files, which visitors do not see until it is published. Fill it with `static-bucket_deploy_add` and over WebDAV (`PUT /node/static-webdav/<bucket>@<deploy>/<path>`). A deploy that gets no file for 24 hours is removed. A bucket can have at most 100 deploys that wait for their publication. */
  "static-bucket_deploy_begin": { readonly params: { token?: string | undefined; name: string; note?: string | null | undefined; preview?: string | null | undefined; force?: boolean | null | undefined }; readonly result: Deploy; };
  /** Declares files of a deploy. If the bucket already has the content of a file, at any path, the deploy reuses it; `missing` lists the files to upload. Call it again after the uploads, with the files that were missing, to check that all of them arrived intact. On a disk the second call also gives them the entity tags of their content. */
  "static-bucket_deploy_add": { readonly params: { token?: string | undefined; name: string; deploy: string; files: { path: string; size: number; sha256: string }[] }; readonly result: { taken: number; missing: string[] }; };
  /** Says what the publication of a deploy would change: how many files are added, changed and removed, the first 1,000 of them by path (`bytes` is the size in the deploy, of a removed file the present one), and the `problems` of its `_headers` and `_redirects`. Content without a known hash is read, up to 256 MiB in all; a file beyond that counts as changed if its size is the same. An open deploy accepts no more files after this call. */
  "static-bucket_deploy_check": { readonly params: { token?: string | undefined; name: string; deploy: string }; readonly result: DeployCheck; };
  /** Makes a preview address: anyone with the address can see the deploy before it is published. The address ends at `expires` (Unix milliseconds), when the deploy is published, rolled back to or deleted, and with the token of this call. With `at_root` a browser that opens the address shows the deploy at the root of the host, like the published site. It does so for an hour, or until it opens `/node/preview/`. The root is that of `host`, or the HTTP root if `host` is null. An open deploy accepts no more files after this call. For a deploy with a preview name, and without `expires_in`, the address is the same for all deploys of the name: it shows the newest, and ends when none waits for its publication, or with the token. */
  "static-bucket_deploy_preview": { readonly params: { token?: string | undefined; name: string; deploy: string; expires_in?: number | null | undefined }; readonly result: { address: string; host: string | null; at_root: boolean; expires: number }; };
  /** Publishes a deploy in one step: every request gets either the old files or the new ones. The old files stay as a deploy, with all changes made to them. Refused while a WebDAV client holds locks in the bucket. Succeeds if the deploy is already published. Visitors find the bucket at the root of `host`. Without `host` they find it at the HTTP root if `at_root` is true, else below `/node/static/`. */
  "static-bucket_deploy_publish": { readonly params: { token?: string | undefined; name: string; deploy: string }; readonly result: PublishedDeploy; };
  /** Publishes an earlier deploy again: `deploy`, or by default the one that was published before the current one. The result is the same as of `static-bucket_deploy_publish`. */
  "static-bucket_deploy_rollback": { readonly params: { token?: string | undefined; name: string; deploy?: string | null | undefined }; readonly result: PublishedDeploy; };
  /** Lists the deploys of a bucket, most recently published or made first. `by` is the user name or key of the token that made a deploy. Times are Unix milliseconds. `files` and `bytes` are null while a deploy is being filled, and until a large one has been counted in the background. `changed` is true if files were changed after the publication. */
  "static-bucket_deploy_list": { readonly params: { token?: string | undefined; name: string }; readonly result: Deploy[]; };
  /** Deletes a deploy and its files. The published deploy cannot be deleted. */
  "static-bucket_deploy_delete": { readonly params: { token?: string | undefined; name: string; deploy: string }; readonly result: { success: true }; };
  /** Makes a signed link: anyone with the address can read one file without a token. With `upload` the link accepts new files into one folder. With `zip` it sends a folder, or the `paths` in it, as a ZIP archive that is made while it is sent. The link ends at `expires` (Unix milliseconds), or when it is revoked by its `id`. It also ends when the token of this call ends, gets another secret or password, or loses the permission. `host` is the bucket's first host name, if it has one: the address works there and at the server's own. Everybody can read the files of a public bucket, so a link to one with a password or a limit is refused (`public_bucket`); `public_address` is where they can. */
  "static-bucket-file_link": { readonly params: { token?: string | undefined; name: string; path: string; expires_in?: number | null | undefined; max_downloads?: number | null | undefined; password?: string | null | undefined; note?: string | null | undefined; upload?: boolean | null | undefined; zip?: boolean | null | undefined; paths?: string[] | null | undefined; listed?: boolean | null | undefined }; readonly result: { address: string; expires: number; id?: string; host?: string; public_address?: string }; };
  /** Lists the unexpired links of a bucket, newest first. A link is `used_up` after its last download, and `ended` if its token was deleted, has got another secret or password, or lost the permission. `downloads` counts how often it was used, `selected` is the number of selected paths, `by` the key of the token that made the link. Times are Unix milliseconds. Links that were made with `listed: false`, or by an older version without a limit, a password or a note, are not listed. */
  "static-bucket_links": { readonly params: { token?: string | undefined; name: string }; readonly result: StoredLink[]; };
  /** Revokes one link of a bucket, or without `id` all its links, including those that are not listed. A token may revoke a link that it made. Links of other tokens, and all links together, need `StaticBucket::Write`. */
  "static-bucket_unlink": { readonly params: { token?: string | undefined; name: string; id?: string | null | undefined }; readonly result: { success: true }; };
  /** Replaces the secret of signed links in the database, and so for all nodes. All links and previews of all buckets end. */
  "node-server_roll_link_secret": { readonly params: { token?: string | undefined }; readonly result: { success: true }; };
  /** Lists the webhooks of the node's configuration (`[[hooks]]`) and how they are doing, counted over all nodes since the database was made. An event waits until the receiver answers with 200 to 299. It is given up when it is three days old, or when the receiver has answered it with 400 to 499 three times. Times are Unix milliseconds. */
  "hooks_list": { readonly params: { token?: string | undefined }; readonly result: Webhook[]; };
  /** Sends the event `hook.test` to a webhook, after the events that wait for it, and begins at once, also after failures. `hooks_list` shows the outcome. */
  "hooks_test": { readonly params: { token?: string | undefined; hook: string }; readonly result: { success: true }; };
  /** Takes a lease for changing the site of a bucket as a whole, as `node-server push` and `node-server deploy` do, or renews `lease`. A lease is valid for 60 seconds. While another caller holds one, the call is refused with `data.reason` `in_use` and `by`, `what` and `since`. The lease is advisory: programs that do not ask for it can still change files. */
  "static-bucket_lease": { readonly params: { token?: string | undefined; name: string; what: string; lease?: string | null | undefined }; readonly result: { lease: string; expires: number }; };
  /** Ends a lease of `static-bucket_lease`. Returns false if the lease has already ended. */
  "static-bucket_release": { readonly params: { token?: string | undefined; name: string; lease: string }; readonly result: boolean; };
  /** Sends what changes in the files of a bucket, whoever changes them and on whatever node, until the client unsubscribes. A change is sent once it is durable: `created`, `changed`, `moved`, `deleted`, and `published` when a deploy takes the place of all files. Folders that a change creates above its path are not sent. `reset` means that changes may be missing, so list the files again: it comes first, unless `cursor` is given and everything after it is still known. `reason` is `begun`, `not_kept` (too much has happened since `cursor`, or the server was restarted), `slow` (the client read too slowly, 512 events were waiting) or `lost` (another node could not tell its changes). An event can be sent twice. */
  "static-bucket_watch": { readonly params: { token?: string | undefined; name: string; prefix?: string | null | undefined; cursor?: string | null | undefined }; readonly result: string; readonly event: BucketEvent; };
  /** Ends a subscription of `static-bucket_watch` of this connection. Returns false if the connection has none with this id. */
  "static-bucket_unwatch": { readonly params: { subscription: string }; readonly result: boolean; };
  /** Lists the agents that the token may see, sorted. A `List` permission in the scope of one agent shows the agent only if the token holds another permission on it, too. */
  "agent-uuid_list_all": { readonly params: { token?: string | undefined }; readonly result: string[]; };
  /** Returns entries of the audit trail of all nodes, oldest first: who changed what, and from where. The database keeps them for `keep_audit_days`. Of one client's changes of many files in a row it keeps the first and one that counts the others. A kill loses entries of the last two seconds; the outputs of the log have them. What another node did within the last two seconds may be missing. */
  "audit_list": { readonly params: { token?: string | undefined; limit?: number | null | undefined; before?: string | null | undefined; since?: number | null | undefined; events?: string[] | null | undefined; by?: string[] | null | undefined; bucket?: string | null | undefined; text?: string | null | undefined }; readonly result: AuditEntry[]; };
  /** Lists the nodes that use the same database, sorted by name. `answered_by` is the node that answered. Times are Unix milliseconds of the database's clock. `url` is the node's own address, if known. A node is `alive` for 60 s after `last_seen`. A node that disappeared without a proper stop stays in the list for a day. `files` is equal for nodes that share a file store; it is `disk` for plain files, which nodes cannot share. `warnings` have the codes of docs/events.md and the UUIDs of the nodes concerned. */
  "cluster_nodes": { readonly params: { token?: string | undefined }; readonly result: { answered_by: { uuid: string; boot: string }; nodes: ClusterNode[]; warnings: { event: "nodes.same_uuid" | "nodes.files_not_shared"; nodes: string[] }[] }; };
  /** Returns the log entries in memory, oldest first. With a filter it returns only entries that pass it, with a limit only the newest of them. */
  "log_list": { readonly params: { token?: string | undefined; log_filter?: string | null | undefined; limit?: number | null | undefined }; readonly result: LogEntry[]; };
  /** Sends every new log entry that passes the filter, until the client unsubscribes. If a reader falls 512 entries behind, the server drops further entries and sends their number. */
  "log_stream": { readonly params: { token?: string | undefined; log_filter: string }; readonly result: string; readonly event: LogEntry; };
  /** Ends a log stream of this connection. Returns false if the connection has no stream with this id. */
  "log_unsubscribe_stream": { readonly params: { subscription: string }; readonly result: boolean; };
  /** Returns the size of each table in bytes. On PostgreSQL this includes indexes and out-of-line storage; on SQLite it does not include indexes. */
  "storage_read": { readonly params: { token?: string | undefined }; readonly result: { tables: { [name: string]: number }; total: number }; };
  /** Returns what takes space, in bytes: the tables of the database, and of all buckets the present files, the deploys that are not published, the trash and the unfinished uploads. The server counts buckets in the background, as for `static-bucket_usage`: `counted` says how many of `buckets` it has counted. In an object store, equal content takes its space once, but counts for each file. */
  "storage_usage": { readonly params: { token?: string | undefined }; readonly result: { database: number; files: number; deploys: number; trash: number; uploads: number; buckets: number; counted: number }; };
  /** Begins a session: credentials for a day, or with `persistent` for 30 days, that may do what the token may do. Call it with `<username>|<password>`. The console does so, and keeps the session in place of the password. A session ends with its token and with the password, and when `session_end` ends it. */
  "session_create": { readonly params: { token?: string | undefined; persistent?: boolean | null | undefined; device?: string | null | undefined; code?: string | null | undefined }; readonly result: { session: string; expires: number }; };
  /** Lists the sessions of the caller's own token, the one that was used last first. `last_used_at` and `address` are precise to five minutes. */
  "session_list": { readonly params: { token?: string | undefined }; readonly result: SessionRecord[]; };
  /** Ends the session `id` of the caller's own token, or without `id` all but the one that makes the call. Returns how many were ended. They are refused at once, on every node; streams end within a second. */
  "session_end": { readonly params: { token?: string | undefined; id?: string | null | undefined }; readonly result: number; };
  /** Changes the password of the caller's own token, which must have one; `old_password` proves that it is the person. All sessions of the token end. A caller with a session gets another one in its place. */
  "session_change_password": { readonly params: { token?: string | undefined; old_password: string; new_password: string; code?: string | null | undefined }; readonly result: { success: true; session?: string }; };
  /** Lets a person in again who has lost the authenticator app: ends all sessions of a token, and asks for no codes any more until the person turns that on again. The password stays. */
  "session_reset": { readonly params: { token?: string | undefined; target_token: string }; readonly result: { token_key: string; sessions_ended: number; totp_removed: boolean }; };
  /** Returns whether a code of an authenticator app is asked for when the person of the caller's own token signs in, and how many recovery codes are left. */
  "session_totp": { readonly params: { token?: string | undefined }; readonly result: { on: boolean; recovery_codes: number }; };
  /** Makes the secret with which an authenticator app makes codes (TOTP, RFC 6238: SHA-1, six digits, 30 seconds). It counts once `session_totp_confirm` has got a code. */
  "session_totp_begin": { readonly params: { token?: string | undefined; password: string }; readonly result: { secret: string; uri: string }; };
  /** Turns codes on: from now on `session_create` asks for one. The recovery codes are shown once; each signs in once in place of a code. All other sessions of the token end. */
  "session_totp_confirm": { readonly params: { token?: string | undefined; code: string }; readonly result: { recovery_codes: string[] }; };
  /** Turns codes off for the caller's own token, with the password and a code or a recovery code. */
  "session_totp_remove": { readonly params: { token?: string | undefined; password: string; code: string }; readonly result: { success: true }; };
  /** Creates a token and returns its secret, which no later call returns. A caller other than the Super Token can grant only permissions that it holds. */
  "token_create": { readonly params: { father_token?: string | undefined; token_creation: { token_limit: Limit[]; username?: string | null; password?: string | null; timestamp_from?: number | null; timestamp_to?: number | null; name?: string | null } }; readonly result: { key: string; secret: string; note?: string }; };
  /** Returns a token without its hashes: the caller's own token, or with `supertoken` any token by its key or user name. */
  "token_get": { readonly params: { token?: string | undefined; supertoken?: string | null | undefined }; readonly result: Token; };
  /** Lists all tokens, sorted by id. */
  "token_list_all_tokens": { readonly params: { token?: string | undefined }; readonly result: { tokens: Token[] }; };
  /** Replaces all limits of a token with `limit`. Send every limit that should stay, including those that you do not know. With `name` it also renames the token; null removes the name. The Super Token cannot be edited. */
  "token_edit": { readonly params: { token?: string | undefined; target_token: string; limit: Limit[]; name?: string | null | undefined }; readonly result: { success: true; id: number; token_key: string }; };
  /** Deletes a token. Tokens that it created stay valid; the result says how many. The Super Token cannot be deleted. */
  "token_delete": { readonly params: { token?: string | undefined; target_token: string }; readonly result: { message: string; rows_affected: number; matched_by: "token_key" | "username"; created_tokens_left: number }; };
  /** Sets the password of a token that has a user name. The old password is invalid at once. */
  "token_change_password": { readonly params: { token?: string | undefined; target_token: string; new_password: string }; readonly result: { success: true; message: string }; };
  /** Gives a token a new secret. The old secret is invalid at once. */
  "token_roll_token_secret": { readonly params: { token?: string | undefined; target_token: string }; readonly result: { key: string; secret: string }; };
  /** Returns the access key and the secret key with which the token signs requests of S3. They are valid as long as the token's secret, and may do what the token may do. A caller by password is refused, because the keys would outlive a change of the password: call it with the token's key and secret. `host` and `listener` are those of `[s3]`; without either the server does not answer clients of S3. */
  "token_s3_credentials": { readonly params: { token?: string | undefined }; readonly result: { access_key_id: string; secret_access_key: string; host: string | null; listener: string | null }; };
  /** Returns whether a token holds a permission in a scope, and which of its limits grants it. It explains the caller's own token, or with `target_token` any token. */
  "token_explain": { readonly params: { token?: string | undefined; permission: Permission; scope: Scope; target_token?: string | null | undefined }; readonly result: { token_key: string; allowed: boolean; reason: "super_token" | "granted" | "not_granted" | "expired" | "not_yet_valid"; limit: number | null; elsewhere: number[] }; };
  /** Describes every method as an OpenRPC document. */
  "rpc.discover": { readonly params: Record<never, never>; readonly result: OpenRpcDocument; };
}

/** The param that holds the caller's token, which the client fills in. */
export const credentialParams: Readonly<Record<string, string>> = {
  "node-server_uptime": "token",
  "node-server_list_all_agent_uuid": "token",
  "node-server_read_config": "token",
  "node-server_config_schema": "token",
  "node-server_check_config": "token",
  "node-server_edit_config": "token",
  "node-server_log": "token",
  "node-server_stream_log": "token",
  "node-server_get_database_type": "token",
  "node-server_database_storage": "token",
  "node-server_status": "token",
  "node-server_metrics": "token",
  "node-server_self_update": "token",
  "node-server_latest_release": "token",
  "node-server_certificates": "token",
  "node-server_renew_certificate": "token",
  "node-server_exec_sql": "token",
  "sql_open": "token",
  "sql_read": "token",
  "static-bucket_create": "token",
  "static-bucket_read": "token",
  "static-bucket_update": "token",
  "static-bucket_delete": "token",
  "static-bucket_list": "token",
  "static-bucket_site": "token",
  "static-bucket_usage": "token",
  "static-bucket_site_problems": "token",
  "static-bucket-file_upload": "token",
  "static-bucket-file_read": "token",
  "static-bucket-file_thumbnail": "token",
  "static-bucket-file_delete": "token",
  "static-bucket-file_rename": "token",
  "static-bucket-file_list": "token",
  "static-bucket-file_search": "token",
  "static-bucket-file_history": "token",
  "static-bucket-file_read_version": "token",
  "static-bucket-file_restore": "token",
  "static-bucket-file_retention": "token",
  "static-bucket-file_purge": "token",
  "static-bucket-file_delete_many": "token",
  "static-bucket-file_move_many": "token",
  "static-bucket-file_copy_many": "token",
  "static-bucket-file_restore_many": "token",
  "static-bucket_deploy_begin": "token",
  "static-bucket_deploy_add": "token",
  "static-bucket_deploy_check": "token",
  "static-bucket_deploy_preview": "token",
  "static-bucket_deploy_publish": "token",
  "static-bucket_deploy_rollback": "token",
  "static-bucket_deploy_list": "token",
  "static-bucket_deploy_delete": "token",
  "static-bucket-file_link": "token",
  "static-bucket_links": "token",
  "static-bucket_unlink": "token",
  "node-server_roll_link_secret": "token",
  "hooks_list": "token",
  "hooks_test": "token",
  "static-bucket_lease": "token",
  "static-bucket_release": "token",
  "static-bucket_watch": "token",
  "agent-uuid_list_all": "token",
  "audit_list": "token",
  "cluster_nodes": "token",
  "log_list": "token",
  "log_stream": "token",
  "storage_read": "token",
  "storage_usage": "token",
  "session_create": "token",
  "session_list": "token",
  "session_end": "token",
  "session_change_password": "token",
  "session_reset": "token",
  "session_totp": "token",
  "session_totp_begin": "token",
  "session_totp_confirm": "token",
  "session_totp_remove": "token",
  "token_create": "father_token",
  "token_get": "token",
  "token_list_all_tokens": "token",
  "token_edit": "token",
  "token_delete": "token",
  "token_change_password": "token",
  "token_roll_token_secret": "token",
  "token_s3_credentials": "token",
  "token_explain": "token",
};

/** What the caller of a method must hold; one entry of its list is enough. */
export const requirements: { readonly [M in keyof Methods]: readonly Requirement[] } = {
  "node-server_hello": [
    {"kind":"anyone"},
  ],
  "node-server_version": [
    {"kind":"anyone"},
  ],
  "node-server_uuid": [
    {"kind":"anyone"},
  ],
  "node-server_uptime": [
    {"kind":"token"},
  ],
  "node-server_list_all_agent_uuid": [
    {"kind":"anywhere","permissions":[{"node":"list_all_agent_uuid"},{"monitoring_uuid":"list"}]},
  ],
  "node-server_read_config": [
    {"kind":"super"},
  ],
  "node-server_config_schema": [
    {"kind":"super"},
  ],
  "node-server_check_config": [
    {"kind":"super"},
  ],
  "node-server_edit_config": [
    {"kind":"super"},
  ],
  "node-server_log": [
    {"kind":"super"},
  ],
  "node-server_stream_log": [
    {"kind":"super"},
  ],
  "node-server_unsubscribe_stream_log": [
    {"kind":"owner"},
  ],
  "node-server_get_database_type": [
    {"kind":"all","permissions":[{"node":"get_database_type"}],"scope":{"kind":"global"}},
  ],
  "node-server_database_storage": [
    {"kind":"super"},
  ],
  "node-server_status": [
    {"kind":"all","permissions":[{"node":"metrics"}],"scope":{"kind":"global"}},
  ],
  "node-server_metrics": [
    {"kind":"all","permissions":[{"node":"metrics"}],"scope":{"kind":"global"}},
  ],
  "node-server_self_update": [
    {"kind":"super"},
  ],
  "node-server_latest_release": [
    {"kind":"all","permissions":[{"node":"metrics"}],"scope":{"kind":"global"}},
  ],
  "node-server_certificates": [
    {"kind":"all","permissions":[{"node":"metrics"}],"scope":{"kind":"global"}},
  ],
  "node-server_renew_certificate": [
    {"kind":"super"},
  ],
  "node-server_exec_sql": [
    {"kind":"all","permissions":[{"node":"exec_sql"}],"scope":{"kind":"global"}},
  ],
  "sql_open": [
    {"kind":"all","permissions":[{"node":"exec_sql"}],"scope":{"kind":"global"}},
  ],
  "sql_read": [
    {"kind":"all","permissions":[{"node":"exec_sql"}],"scope":{"kind":"global"}},
  ],
  "sql_close": [
    {"kind":"owner"},
  ],
  "static-bucket_create": [
    {"kind":"all","permissions":[{"static_bucket":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket":"write"}],"scope":{"kind":"global"}},
  ],
  "static-bucket_read": [
    {"kind":"all","permissions":[{"static_bucket":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_update": [
    {"kind":"all","permissions":[{"static_bucket":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket":"write"}],"scope":{"kind":"global"}},
  ],
  "static-bucket_delete": [
    {"kind":"all","permissions":[{"static_bucket":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket":"delete"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_list": [
    {"kind":"super"},
  ],
  "static-bucket_site": [
    {"kind":"some","permissions":[{"static_bucket":"read"},{"static_bucket_file":"read"},{"static_bucket_file":"write"},{"static_bucket_file":"delete"},{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_usage": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_site_problems": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_upload": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_read": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_thumbnail": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_delete": [
    {"kind":"all","permissions":[{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_rename": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_list": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_search": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_history": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_read_version": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_restore": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_retention": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_purge": [
    {"kind":"all","permissions":[{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_delete_many": [
    {"kind":"all","permissions":[{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_move_many": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_copy_many": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"},{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_restore_many": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_begin": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_add": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_check": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"},{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_preview": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_publish": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_rollback": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_list": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_deploy_delete": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"},{"static_bucket_file":"delete"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket-file_link": [
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket_file":"read"},{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_links": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_unlink": [
    {"kind":"all","permissions":[{"static_bucket":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
    {"kind":"all","permissions":[{"static_bucket_file":"read"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "node-server_roll_link_secret": [
    {"kind":"super"},
  ],
  "hooks_list": [
    {"kind":"all","permissions":[{"node":"read_logs"}],"scope":{"kind":"global"}},
  ],
  "hooks_test": [
    {"kind":"super"},
  ],
  "static-bucket_lease": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_release": [
    {"kind":"all","permissions":[{"static_bucket_file":"write"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_watch": [
    {"kind":"all","permissions":[{"static_bucket_file":"list"}],"scope":{"kind":"static_bucket","param":"name"}},
  ],
  "static-bucket_unwatch": [
    {"kind":"owner"},
  ],
  "agent-uuid_list_all": [
    {"kind":"anywhere","permissions":[{"node":"list_all_agent_uuid"},{"monitoring_uuid":"list"}]},
  ],
  "audit_list": [
    {"kind":"all","permissions":[{"node":"read_logs"}],"scope":{"kind":"global"}},
  ],
  "cluster_nodes": [
    {"kind":"all","permissions":[{"node":"read_nodes"}],"scope":{"kind":"global"}},
  ],
  "log_list": [
    {"kind":"all","permissions":[{"node":"read_logs"}],"scope":{"kind":"global"}},
  ],
  "log_stream": [
    {"kind":"all","permissions":[{"node":"read_logs"}],"scope":{"kind":"global"}},
  ],
  "log_unsubscribe_stream": [
    {"kind":"owner"},
  ],
  "storage_read": [
    {"kind":"all","permissions":[{"node":"read_storage"}],"scope":{"kind":"global"}},
  ],
  "storage_usage": [
    {"kind":"all","permissions":[{"node":"read_storage"}],"scope":{"kind":"global"}},
  ],
  "session_create": [
    {"kind":"token"},
  ],
  "session_list": [
    {"kind":"token"},
  ],
  "session_end": [
    {"kind":"token"},
  ],
  "session_change_password": [
    {"kind":"token"},
  ],
  "session_reset": [
    {"kind":"super"},
  ],
  "session_totp": [
    {"kind":"token"},
  ],
  "session_totp_begin": [
    {"kind":"token"},
  ],
  "session_totp_confirm": [
    {"kind":"token"},
  ],
  "session_totp_remove": [
    {"kind":"token"},
  ],
  "token_create": [
    {"kind":"all","permissions":[{"token":"create"}],"scope":{"kind":"global"}},
  ],
  "token_get": [
    {"kind":"token"},
    {"kind":"super"},
  ],
  "token_list_all_tokens": [
    {"kind":"super"},
  ],
  "token_edit": [
    {"kind":"super"},
  ],
  "token_delete": [
    {"kind":"super"},
  ],
  "token_change_password": [
    {"kind":"super"},
  ],
  "token_roll_token_secret": [
    {"kind":"super"},
  ],
  "token_s3_credentials": [
    {"kind":"token"},
  ],
  "token_explain": [
    {"kind":"token"},
    {"kind":"super"},
  ],
  "rpc.discover": [
    {"kind":"anyone"},
  ],
};

/** The families of permissions that this server uses, with the actions of each. */
export const permissionFamilies = {
  static_bucket_file: ["read","write","delete","list"],
  static_bucket: ["read","write","delete"],
  node: ["exec_sql","get_database_type","list_all_agent_uuid","read_logs","read_storage","metrics","read_nodes","get_rt_pool","delete_agent_uuid"],
  monitoring_uuid: ["list","delete"],
  token: ["create"],
  db: ["list","read","create","update","delete","exec_sql"],
} as const;

/** Families of the wider system. Tokens may have them, but this server does not use them. */
export const otherPermissionFamilies = ["kv","task","crontab","crontab_result","terminal","js_worker","js_result","static_monitoring","dynamic_monitoring","dynamic_monitoring_summary"] as const;

/** The largest values that the server takes, or the smallest. Lengths are in characters. */
export const bounds = {
  minPasswordLength: 6,
  maxPasswordLength: 1024,
  maxTokenNameLength: 100,
  maxUsernameLength: 128,
  maxLinkSeconds: 31622400,
  maxLinkPaths: 2000,
  maxLinkPathsBytes: 65536,
  maxManyPaths: 10000,
  maxVersions: 10000,
} as const;

/** Forms of names. A host name is in lower case. An `invisible` character may not be in a name of a token or a user. */
export const patterns = {
  tokenKey: /^[A-Za-z0-9]{16}$/,
  wholeToken: /^([A-Za-z0-9]{16}):[A-Za-z0-9]{32}$/,
  invisible: /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u,
  releaseTag: /^v(\d{1,9}\.\d{1,9}\.\d{1,9})$/,
  bucketName: /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/,
  hostName: /^(?=.{1,253}$)(?!\d+(?:\.\d+){3}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/,
  previewName: /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
} as const;

/** Targets of the log. `db` stands for those of libraries. */
export const logTargets = ["server","rpc","db","kv","monitoring","task","token","terminal","js_worker","js_result","js_runtime","crontab","crontab_result","audit"] as const;
export const libraryTargets = ["sea_orm","sea_orm_migration","sqlx"] as const;

/** Every kind of error, with its number. */
export const errorKinds = {
  Parse: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  Internal: -32603,
  NeedsWebSocket: -32000,
  TooManySubscriptions: -32006,
  RequestTooBig: -32007,
  ResponseTooBig: -32008,
  Busy: -32009,
  BatchTooLong: -32010,
  ParseError: 101,
  SerializationError: 101,
  IoError: 101,
  PermissionDenied: 102,
  DatabaseError: 103,
  NotFound: 105,
  UuidNotFound: 106,
  ConfigNotFound: 107,
  InvalidInput: 108,
  Other: 999,
} as const;

/** Why a call was refused: `data.reason` of every `PermissionDenied`. */
export const denialReasons = ["invalid_credentials","expired","not_yet_valid","code_missing","wrong_code","too_many_codes","missing_permission"] as const;
export type DenialReason = (typeof denialReasons)[number];

/** Why the server ends a subscription: `params.end.reason` of its last notification. */
export const endReasons = ["token_invalid","shutdown","restart","completed","failed"] as const;
export type EndReason = (typeof endReasons)[number];

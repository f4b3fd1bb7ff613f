// Printed by `npm run docs` from the declarations; edit those instead.

export type Bucket = { id: number; name: string; path: string; is_http_root: boolean; cors: boolean; enable: boolean; public?: false; hosts?: string[]; clean_urls?: true };

export type BucketUsage = { files: number; bytes: number; newest: number | null };

export type ClusterNode = { uuid: string; boot: string; name: string; url: string | null; version: string; since: number; last_seen: number; alive: boolean; ready: boolean; files: string; processes: number };

export type ConfigWarning = { field: string; why: string; line?: number; column?: number };

export type Deploy = { deploy: string; state: "open" | "ready" | "published" | "previous"; made_at: number; by: string; note: string; files: number | null; bytes: number | null; published_at: number | null; changed: boolean };

export type Effect = "reads" | "changes" | "destroys";

export type FileVersion = { version: number; path: string; kind: "file" | "folder"; size: number; mtime: number; removed_at: number; kept_until: number };

export type FoundEntry = { path: string; kind: "file" | "folder"; size: number; mtime: number };

export type Limit = { scopes: Scope[]; permissions: Permission[] };

export type LogEntry = { timestamp: string; level: "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE"; target: string; message: string; fields: { [name: string]: unknown }; spans: { name: string; fields: string }[] };

export type MethodDescription = { name: string; tags: { name: string }[]; summary: string; description?: string; deprecated?: true; paramStructure: "either"; params: { name: string; required: boolean; schema: { [name: string]: unknown }; "x-credential"?: true }[]; result: { name: string; schema: { [name: string]: unknown } }; errors: { code: number; message: string }[]; "x-event"?: { [name: string]: unknown }; "x-need": string; "x-authorization": Requirement[]; "x-effect": Effect; "x-warning"?: string };

export type MetricFamily = { name: string; type: "counter" | "gauge" | "histogram"; help: string; samples?: { labels: { [name: string]: string }; value: number }[]; histograms?: { labels: { [name: string]: string }; count: number; sum: number; buckets: { le: number; count: number }[] }[] };

export type MetricHistory = { step_seconds: number; start: number | null; series: { [name: string]: (number | null)[] } };

export type OpenRpcDocument = { openrpc: string; info: { title: string; version: string; license: { name: string } }; methods: MethodDescription[] };

export type Permission = { static_bucket_file: "read" | "write" | "delete" | "list" } | { static_bucket: "read" | "write" | "delete" } | { node: "exec_sql" | "get_database_type" | "list_all_agent_uuid" | "read_logs" | "read_storage" | "metrics" | "read_nodes" | "get_rt_pool" | "delete_agent_uuid" } | { monitoring_uuid: "list" | "delete" } | { token: "create" } | { db: "list" | "read" | "create" | "update" | "delete" | "exec_sql" } | { kv: string | { [name: string]: string } } | { task: string | { [name: string]: string } } | { crontab: string | { [name: string]: string } } | { crontab_result: string | { [name: string]: string } } | { terminal: string | { [name: string]: string } } | { js_worker: string | { [name: string]: string } } | { js_result: string | { [name: string]: string } } | { static_monitoring: string | { [name: string]: string } } | { dynamic_monitoring: string | { [name: string]: string } } | { dynamic_monitoring_summary: string | { [name: string]: string } };

export type PublishedDeploy = { deploy: string; replaced: string | null; problems: { file: "_headers" | "_redirects"; line: number; level: "error" | "warning"; why: string }[]; host: string | null; at_root: boolean };

export type Requirement = { kind: "anyone" | "owner" | "super" | "token" } | { kind: "all"; permissions: Permission[]; scope: { kind: "global" } | { kind: "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db"; param: string } } | { kind: "anywhere"; permissions: Permission[] };

export type Scope = "global" | { global: null } | { static_bucket: string } | { global_static_bucket: string } | { agent_uuid: string } | { kv_namespace: string } | { js_worker: string } | { db: string };

export type StoredLink = { id: string; kind: "download" | "upload" | "zip"; path: string; selected?: number; by: string; created: number; expires: number; password: boolean; max_downloads?: number; downloads?: number };

export type Token = { version: number; token_key: string; timestamp_from: number | null; timestamp_to: number | null; token_limit: unknown; username: string | null; created_by: string | null; name: string | null; created_at: number | null; last_used_at: number | null };

export type VersionRecord = { binary_type: string; build_time: string; cargo_target_triple: string; cargo_version: string; git_branch: string; git_commit_date: string; git_commit_message: string; git_commit_sha: string; rustc_channel: string; rustc_commit_date: string; rustc_commit_hash: string; rustc_llvm_version: string; rustc_version: string };

/** Every method of the server: what it takes and what it answers. */
export interface Methods {
  /** Returns a fixed text, which shows that the server runs. */
  "node-server_hello": { readonly params: Record<never, never>; readonly result: "Node Server Is Running!"; };
  /** Returns the version, the time of the build, and the commit. */
  "node-server_version": { readonly params: Record<never, never>; readonly result: VersionRecord; };
  /** Returns the server's identity, set by `server_uuid` in the configuration. */
  "node-server_uuid": { readonly params: Record<never, never>; readonly result: string; };
  /** Returns for how many milliseconds the server has been running; a self-update resets it. */
  "node-server_uptime": { readonly params: { token?: string | undefined }; readonly result: number; };
  /** Lists the agents that the token may see, sorted. */
  "node-server_list_all_agent_uuid": { readonly params: { token?: string | undefined }; readonly result: { uuids: string[] }; };
  /** Reads the configuration file, as it is on the disk. */
  "node-server_read_config": { readonly params: { token?: string | undefined }; readonly result: string; };
  /** Checks a whole configuration as `node-server_edit_config` does before it writes, with the same errors, and writes nothing. `data.problems` of an error lists every mistake with its key, line and column; `warnings` lists valid settings that are probably not intended. */
  "node-server_check_config": { readonly params: { token?: string | undefined; config_string: string }; readonly result: { valid: true; warnings: ConfigWarning[] }; };
  /** Checks a whole configuration, writes it, and applies it after the answer was sent. It changes the file only: a key that an environment variable of the server or an option of its command line sets keeps that value. If it cannot be applied, the server continues as before and logs the reason. */
  "node-server_edit_config": { readonly params: { token?: string | undefined; config_string: string }; readonly result: true; };
  /** Returns the log entries kept in memory, the oldest first; with a filter only those that pass it. */
  "node-server_log": { readonly params: { token?: string | undefined; log_filter?: string | null | undefined }; readonly result: LogEntry[]; };
  /** Sends every new log entry that passes the filter, until unsubscribed. If a reader falls 512 entries behind, further ones are dropped and their number is sent. */
  "node-server_stream_log": { readonly params: { token?: string | undefined; log_filter: string }; readonly result: string; readonly event: LogEntry; };
  /** Ends a log stream of this connection; false if it has none with this id. */
  "node-server_unsubscribe_stream_log": { readonly params: { subscription: string }; readonly result: boolean; };
  /** Returns the kind of the server's database. */
  "node-server_get_database_type": { readonly params: { token?: string | undefined }; readonly result: { success: true; data: "sqlite" | "postgres" | "mysql" | "unknown" }; };
  /** Returns the size of each table in bytes: on PostgreSQL with its indexes and out-of-line storage, on SQLite without its indexes. */
  "node-server_database_storage": { readonly params: { token?: string | undefined }; readonly result: { tables: { [name: string]: number }; total: number }; };
  /** Returns what `GET /node/metrics` returns, as JSON, and its history: the last hour in steps of 10 seconds and the last day in steps of a minute, since the start of the server. Rates are per second. */
  "node-server_metrics": { readonly params: { token?: string | undefined; since?: number | null | undefined; series?: string[] | null | undefined }; readonly result: { time: number; metrics: MetricFamily[]; history: MetricHistory[] }; };
  /** Replaces the server's binary by the release `tag`, newer or older, and restarts into it 3 seconds after the answer; the process id stays the same. If that version runs already, nothing happens. The progress is logged. */
  "node-server_self_update": { readonly params: { token?: string | undefined; tag: string }; readonly result: null; };
  /** Tells whether the release server (`release_url`) has a newer version. It is asked once an hour at the most, for 5 seconds; if it does not answer, `problem` says why, and `latest` is what it said last, or null. `checked_at` is in Unix milliseconds. */
  "node-server_latest_release": { readonly params: { token?: string | undefined }; readonly result: { current: string; latest: string | null; newer: boolean; checked_at: number | null; problem: string | null }; };
  /** Runs SQL on the main database, and returns the result of the last statement. Of more than 10,000 rows it returns the first 10,000, and `truncated` is true. When the connection of the call is closed, the statement is stopped. The permission means full trust: on SQLite it can write any file that the server can. */
  "node-server_exec_sql": { readonly params: { token?: string | undefined; sql: string; params?: unknown | undefined }; readonly result: { success: true; data: { [name: string]: unknown }[]; row_count: number; truncated: boolean }; };
  /** Creates a bucket and its folder. `path` defaults to the name. Only the Super Token may use a folder that contains files already. */
  "static-bucket_create": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; is_http_root?: boolean | null | undefined; cors?: boolean | null | undefined; public?: boolean | null | undefined; hosts?: string[] | null | undefined; clean_urls?: boolean | null | undefined }; readonly result: Bucket; };
  /** Returns a bucket's record; null if there is none. */
  "static-bucket_read": { readonly params: { token?: string | undefined; name: string }; readonly result: Bucket | null; };
  /** Changes a bucket; omitted settings stay. With `enable: false` it is not served over HTTP and WebDAV. */
  "static-bucket_update": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; is_http_root?: boolean | null | undefined; cors?: boolean | null | undefined; enable?: boolean | null | undefined; public?: boolean | null | undefined; hosts?: string[] | null | undefined; clean_urls?: boolean | null | undefined; move_http_root?: boolean | null | undefined }; readonly result: Bucket; };
  /** Deletes a bucket's record; its files stay where they are. With `files` it first deletes the files, all deploys and everything that can be restored, and the answer comes when all of that is done. If that fails, the bucket stays, disabled: send the call again. An object store frees the space with its next daily care. */
  "static-bucket_delete": { readonly params: { token?: string | undefined; name: string; files?: boolean | null | undefined }; readonly result: { success: true; files_deleted?: true }; };
  /** Lists the names of all buckets, sorted. */
  "static-bucket_list": { readonly params: { token?: string | undefined }; readonly result: string[]; };
  /** Returns how many files a bucket has, their bytes, and when one of them was last modified (`newest`, Unix milliseconds; null without files). They are counted in the background: some seconds after a change by this server, within an hour after one by another program. Null if the bucket was not counted yet. */
  "static-bucket_usage": { readonly params: { token?: string | undefined; name: string }; readonly result: BucketUsage | null; };
  /** Checks the `_headers` and `_redirects` of the files that a bucket is served from now, as `static-bucket_deploy_publish` does. `line` is 0 if the file as a whole is meant; an `error` is not applied as it is written. */
  "static-bucket_site_problems": { readonly params: { token?: string | undefined; name: string }; readonly result: { file: "_headers" | "_redirects"; line: number; level: "error" | "warning"; why: string }[]; };
  /** Writes a file, given as `body` or as `base64`. Readers see the old file or the whole new one. Missing folders are created. */
  "static-bucket-file_upload": { readonly params: { token?: string | undefined; name: string; path: string; body?: unknown | null | undefined; base64?: string | null | undefined }; readonly result: { success: true }; };
  /** Reads a file; the content is base64. */
  "static-bucket-file_read": { readonly params: { token?: string | undefined; name: string; path: string }; readonly result: string; };
  /** Deletes a file; it succeeds also if the file does not exist. */
  "static-bucket-file_delete": { readonly params: { token?: string | undefined; name: string; path: string }; readonly result: { success: true }; };
  /** Moves a file inside its bucket; a file at `to` is replaced. Missing folders are created. */
  "static-bucket-file_rename": { readonly params: { token?: string | undefined; name: string; from: string; to: string }; readonly result: { success: true }; };
  /** Lists every file below a folder (default: the whole bucket), by path, with size in bytes and modification time in Unix milliseconds. */
  "static-bucket-file_list": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined }; readonly result: { path: string; size: number; mtime: number }[]; };
  /** Finds files and folders whose path below `path` (default: the whole bucket) has all words of `query`, in any order, case and Unicode form. A word with `*` or `?` is a pattern for the name, or with a slash in it for the whole path below `path`. `size` is in bytes (0 of a folder), `mtime` in Unix milliseconds. `more` says that there are further results, or that the search did not look at all paths: after 10 seconds, or because a folder could not be read; then `complete` is false. */
  "static-bucket-file_search": { readonly params: { token?: string | undefined; name: string; query: string; path?: string | null | undefined; limit?: number | null | undefined; offset?: number | null | undefined }; readonly result: { entries: FoundEntry[]; more: boolean; complete: boolean; searched: number }; };
  /** Lists what was deleted or replaced at a path and below it (default: in the whole bucket), the newest first: the former versions of a file, or what was deleted in a folder. `version` is the change of the bucket that removed it. Times are Unix milliseconds; until `kept_until` (`keep_removed_days`; for plain files `trash_days`) it can be restored. A file that was moved keeps its versions under the path that each had. */
  "static-bucket-file_history": { readonly params: { token?: string | undefined; name: string; path?: string | null | undefined; limit?: number | null | undefined; after?: { version: number; path: string } | null | undefined; files_only?: boolean | null | undefined }; readonly result: FileVersion[]; };
  /** Puts a version of `static-bucket-file_history` back, at its path or at `to`. Missing folders are created. A file takes the place of the file that exists there; a folder, which is restored with its content, needs a free path. A folder, and any plain file, leaves the history then; another file stays in it. */
  "static-bucket-file_restore": { readonly params: { token?: string | undefined; name: string; path: string; version: number; to?: string | null | undefined }; readonly result: { success: true }; };
  /** Returns for how many days what is deleted or replaced in a bucket can be restored; 0 if not at all. With `measure`, also how many versions can be restored now, and the bytes of their files, for which all of them are read. */
  "static-bucket-file_retention": { readonly params: { token?: string | undefined; name: string; measure?: boolean | null | undefined }; readonly result: { days: number; versions?: number; bytes?: number }; };
  /** Purges everything that is kept of the deleted and replaced files of a bucket; none of it can be restored any more. Plain files are deleted at once; content in an object store by its next daily care, unless something else has the same content. Returns the number of versions. */
  "static-bucket-file_purge": { readonly params: { token?: string | undefined; name: string }; readonly result: { success: true; versions: number }; };
  /** Begins a deploy: an empty tree beside the bucket's files, which nobody sees until it is published. It is filled by `static-bucket_deploy_add` and by WebDAV (`PUT /node/static-webdav/<bucket>@<deploy>/<path>`). One that nothing is put into for 24 hours is removed. A bucket has 100 deploys at most that are not published. */
  "static-bucket_deploy_begin": { readonly params: { token?: string | undefined; name: string; note?: string | null | undefined; force?: boolean | null | undefined }; readonly result: Deploy; };
  /** Says which files a deploy is to have. Those whose content the bucket has already, at whatever path, are taken over without an upload; `missing` are the others. Called again after the uploads, with the files that were missing, it answers whether all of them arrived as they should be; on a disk this also gives them the entity tags of their content. */
  "static-bucket_deploy_add": { readonly params: { token?: string | undefined; name: string; deploy: string; files: { path: string; size: number; sha256: string }[] }; readonly result: { taken: number; missing: string[] }; };
  /** Makes an address at which anybody who knows it sees a deploy before it is published, until `expires` (Unix milliseconds), until the deploy is published or rolled back to, and as long as it and the token of this call exist. With `at_root` a browser that goes there shows the deploy at the root of the host, as the published site will be, for an hour or until it goes to `/node/preview/`: at `host` if that is not null, else where the bucket is the HTTP root. An open deploy takes no more files from then on. */
  "static-bucket_deploy_preview": { readonly params: { token?: string | undefined; name: string; deploy: string; expires_in?: number | null | undefined }; readonly result: { address: string; host: string | null; at_root: boolean; expires: number }; };
  /** Puts the files of a deploy in the place of the bucket's, at once: every request is answered by the old files or by the new ones. The old ones stay as a deploy, with all that was changed in them. Refused while a WebDAV client has locks in the bucket. It succeeds also if the deploy is published already. Visitors find the bucket at the root of `host`, or with `at_root` and no `host` at the HTTP root, else below `/node/static/`. */
  "static-bucket_deploy_publish": { readonly params: { token?: string | undefined; name: string; deploy: string }; readonly result: PublishedDeploy; };
  /** Publishes an earlier deploy again, at once: that one, or without `deploy` the one that was published before the present one. The result is that of `static-bucket_deploy_publish`. */
  "static-bucket_deploy_rollback": { readonly params: { token?: string | undefined; name: string; deploy?: string | null | undefined }; readonly result: PublishedDeploy; };
  /** Lists the deploys of a bucket, the last published or made first: who made it and when (Unix milliseconds), `files` and `bytes` (null while it is filled, and until a large one is counted in the background), and whether files were `changed` since it was published. */
  "static-bucket_deploy_list": { readonly params: { token?: string | undefined; name: string }; readonly result: Deploy[]; };
  /** Deletes a deploy that is not published, with its files. */
  "static-bucket_deploy_delete": { readonly params: { token?: string | undefined; name: string; deploy: string }; readonly result: { success: true }; };
  /** Makes an address at which anybody who knows it can read one file, or with `upload` put new files into one folder, or with `zip` read one folder, or what `paths` names in it, as a ZIP archive that is made while it is sent; without a token. It ends at `expires` (Unix milliseconds), when the token of this call ends, gets another secret or password or loses the permission, and when all links of the bucket are revoked. A link with `max_downloads`, `password` or `paths` has an `id`, by which it can be revoked alone. */
  "static-bucket-file_link": { readonly params: { token?: string | undefined; name: string; path: string; expires_in?: number | null | undefined; max_downloads?: number | null | undefined; password?: string | null | undefined; upload?: boolean | null | undefined; zip?: boolean | null | undefined; paths?: string[] | null | undefined }; readonly result: { address: string; expires: number; id?: string }; };
  /** Lists the links of a bucket that have a limit, a password or selected `paths`, of which `selected` is the number, and have not expired, the newest first. Other links are not stored, so no list has them. Times are Unix milliseconds; `by` is the key of the token that made it. */
  "static-bucket_links": { readonly params: { token?: string | undefined; name: string }; readonly result: StoredLink[]; };
  /** Revokes one stored link of a bucket, or without `id` all its links, also those that are not stored. A token may revoke its own links; those of others, and all of them, with `StaticBucket::Write`. */
  "static-bucket_unlink": { readonly params: { token?: string | undefined; name: string; id?: string | null | undefined }; readonly result: { success: true }; };
  /** Replaces the secret that signed links are made with, in the database and so for all nodes. All links and previews of all buckets end. */
  "node-server_roll_link_secret": { readonly params: { token?: string | undefined }; readonly result: { success: true }; };
  /** Says that the caller begins to change the site of a bucket as a whole, as `node-server push` and `node-server deploy` do, or with `lease` that it still does. Valid for 60 seconds. While somebody else's is, it is refused with `data.reason` `in_use` and `by`, `what` and `since`. It binds only programs that ask for it: files can be changed all the same. */
  "static-bucket_lease": { readonly params: { token?: string | undefined; name: string; what: string; lease?: string | null | undefined }; readonly result: { lease: string; expires: number }; };
  /** Ends what `static-bucket_lease` began. False if it has ended already. */
  "static-bucket_release": { readonly params: { token?: string | undefined; name: string; lease: string }; readonly result: boolean; };
  /** Lists the agents that the token may see, sorted. In the scope of one agent, a List permission shows it only beside another permission on it. */
  "agent-uuid_list_all": { readonly params: { token?: string | undefined }; readonly result: string[]; };
  /** Returns the newest audit entries kept in memory, the oldest first: who changed what, and from where. The memory is lost with a restart; `json_log_file` keeps them all. */
  "audit_list": { readonly params: { token?: string | undefined; limit?: number | null | undefined }; readonly result: LogEntry[]; };
  /** Lists the nodes that use the same database, by name, and which of them answered (`answered_by`). Times are Unix milliseconds of the database's clock. `url` is how to reach the node itself, if it is known. A node is `alive` for 60 s after `last_seen`; one that did not stop by itself and is not alive is listed for a day. `files` is equal for nodes that share one store of files, and `disk` for plain files, which cannot be shared. `warnings` have the codes of docs/events.md and the UUIDs of the nodes that they are about. */
  "cluster_nodes": { readonly params: { token?: string | undefined }; readonly result: { answered_by: { uuid: string; boot: string }; nodes: ClusterNode[]; warnings: { event: "nodes.same_uuid" | "nodes.files_not_shared"; nodes: string[] }[] }; };
  /** Returns the log entries kept in memory, the oldest first; with a filter only those that pass it, with a limit only the newest of them. */
  "log_list": { readonly params: { token?: string | undefined; log_filter?: string | null | undefined; limit?: number | null | undefined }; readonly result: LogEntry[]; };
  /** Sends every new log entry that passes the filter, until unsubscribed. If a reader falls 512 entries behind, further ones are dropped and their number is sent. */
  "log_stream": { readonly params: { token?: string | undefined; log_filter: string }; readonly result: string; readonly event: LogEntry; };
  /** Ends a log stream of this connection; false if it has none with this id. */
  "log_unsubscribe_stream": { readonly params: { subscription: string }; readonly result: boolean; };
  /** Returns the size of each table in bytes: on PostgreSQL with its indexes and out-of-line storage, on SQLite without its indexes. */
  "storage_read": { readonly params: { token?: string | undefined }; readonly result: { tables: { [name: string]: number }; total: number }; };
  /** Creates a token. Its secret is returned only here. A caller other than the Super Token can grant only what it holds. */
  "token_create": { readonly params: { father_token?: string | undefined; token_creation: { token_limit: Limit[]; username?: string | null; password?: string | null; timestamp_from?: number | null; timestamp_to?: number | null; name?: string | null } }; readonly result: { key: string; secret: string; note?: string }; };
  /** Returns a token without its hashes: the caller's own, or with `supertoken` any token, by key or user name. */
  "token_get": { readonly params: { token?: string | undefined; supertoken?: string | null | undefined }; readonly result: Token; };
  /** Lists all tokens, by id. */
  "token_list_all_tokens": { readonly params: { token?: string | undefined }; readonly result: { tokens: Token[] }; };
  /** Replaces what a token may do: `limit` becomes the whole list, so send every limit that should stay, also those that you do not know. With `name` it also gets this name, or none with null. The Super Token cannot be edited. */
  "token_edit": { readonly params: { token?: string | undefined; target_token: string; limit: Limit[]; name?: string | null | undefined }; readonly result: { success: true; id: number; token_key: string }; };
  /** Deletes a token. Tokens that it created stay valid, and their number is returned. The Super Token cannot be deleted. */
  "token_delete": { readonly params: { token?: string | undefined; target_token: string }; readonly result: { message: string; rows_affected: number; matched_by: "token_key" | "username"; created_tokens_left: number }; };
  /** Sets the password of a token that has a user name; the old one is invalid at once. */
  "token_change_password": { readonly params: { token?: string | undefined; target_token: string; new_password: string }; readonly result: { success: true; message: string }; };
  /** Gives a token a new secret; the old one is invalid at once. */
  "token_roll_token_secret": { readonly params: { token?: string | undefined; target_token: string }; readonly result: { key: string; secret: string }; };
  /** Tells whether a token holds a permission in a scope, and by which of its limits: the caller's own token, or with `target_token` any. */
  "token_explain": { readonly params: { token?: string | undefined; permission: Permission; scope: Scope; target_token?: string | null | undefined }; readonly result: { token_key: string; allowed: boolean; reason: "super_token" | "granted" | "not_granted" | "expired" | "not_yet_valid"; limit: number | null; elsewhere: number[] }; };
  /** Describes every method as an OpenRPC document. */
  "rpc.discover": { readonly params: Record<never, never>; readonly result: OpenRpcDocument; };
}

/** The param that holds the caller's token, which the client fills in. */
export const credentialParams: Readonly<Record<string, string>> = {
  "node-server_uptime": "token",
  "node-server_list_all_agent_uuid": "token",
  "node-server_read_config": "token",
  "node-server_check_config": "token",
  "node-server_edit_config": "token",
  "node-server_log": "token",
  "node-server_stream_log": "token",
  "node-server_get_database_type": "token",
  "node-server_database_storage": "token",
  "node-server_metrics": "token",
  "node-server_self_update": "token",
  "node-server_latest_release": "token",
  "node-server_exec_sql": "token",
  "static-bucket_create": "token",
  "static-bucket_read": "token",
  "static-bucket_update": "token",
  "static-bucket_delete": "token",
  "static-bucket_list": "token",
  "static-bucket_usage": "token",
  "static-bucket_site_problems": "token",
  "static-bucket-file_upload": "token",
  "static-bucket-file_read": "token",
  "static-bucket-file_delete": "token",
  "static-bucket-file_rename": "token",
  "static-bucket-file_list": "token",
  "static-bucket-file_search": "token",
  "static-bucket-file_history": "token",
  "static-bucket-file_restore": "token",
  "static-bucket-file_retention": "token",
  "static-bucket-file_purge": "token",
  "static-bucket_deploy_begin": "token",
  "static-bucket_deploy_add": "token",
  "static-bucket_deploy_preview": "token",
  "static-bucket_deploy_publish": "token",
  "static-bucket_deploy_rollback": "token",
  "static-bucket_deploy_list": "token",
  "static-bucket_deploy_delete": "token",
  "static-bucket-file_link": "token",
  "static-bucket_links": "token",
  "static-bucket_unlink": "token",
  "node-server_roll_link_secret": "token",
  "static-bucket_lease": "token",
  "static-bucket_release": "token",
  "agent-uuid_list_all": "token",
  "audit_list": "token",
  "cluster_nodes": "token",
  "log_list": "token",
  "log_stream": "token",
  "storage_read": "token",
  "token_create": "father_token",
  "token_get": "token",
  "token_list_all_tokens": "token",
  "token_edit": "token",
  "token_delete": "token",
  "token_change_password": "token",
  "token_roll_token_secret": "token",
  "token_explain": "token",
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
export const denialReasons = ["invalid_credentials","expired","not_yet_valid","missing_permission"] as const;
export type DenialReason = (typeof denialReasons)[number];

/** Why the server ends a subscription: `params.end.reason` of its last notification. */
export const endReasons = ["token_invalid","shutdown","restart","completed","failed"] as const;
export type EndReason = (typeof endReasons)[number];

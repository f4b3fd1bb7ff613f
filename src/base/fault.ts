// Base is what every module may use, and it knows nothing of the product. This file has the table of all errors;
// everything that fails on purpose throws a Fault. clock.ts is the only source of time for what expires or repeats.
// Several files keep clients apart: turns.ts shares the event loop, memory-budget.ts the memory, concurrency.ts has the
// order of work, mailbox.ts a bounded queue for a slow reader. task.ts runs and watches beside requests. The others read
// and write one form each: addresses, URLs of databases and of stores, JSON, XML, numbers and texts for terminals.

/** FaultRow describes one kind of error. */
interface FaultRow {
  readonly code: number;
  readonly title: string;
  readonly description: string;
  /** If true, the message is the title alone, as in the examples of JSON-RPC 2.0. */
  readonly bare?: true;
  /** Values of `data.reason`, each with its meaning. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/**
 * `faultKinds` is the table of all errors that the server reports on purpose. Code throws a kind; numbers and titles exist only
 * here. An error that is not a `Fault` is a bug, and no caller sees its message.
 */
export const faultKinds = {
  Parse: { code: -32700, title: "Parse error", description: "The request is not JSON.", bare: true },
  InvalidRequest: {
    code: -32600,
    title: "Invalid Request",
    description:
      "The JSON is not a JSON-RPC 2.0 request. Over HTTP, a wrong content type is the same error, with status 415.",
    bare: true,
  },
  MethodNotFound: {
    code: -32601,
    title: "Method not found",
    description: "No method has this name. `rpc.discover` lists the methods.",
    bare: true,
  },
  InvalidParams: {
    code: -32602,
    title: "Invalid params",
    description: "A param is missing or has the wrong type; `data.field` names it.",
  },
  Internal: {
    code: -32603,
    title: "Internal error",
    description: "A bug. The log has the full error under `data.reference`.",
  },
  NeedsWebSocket: {
    code: -32000,
    title: "Needs a WebSocket",
    description: "Subscriptions and cursors work only over WebSocket.",
  },
  TooManySubscriptions: {
    code: -32006,
    title: "Too many subscriptions",
    description: "A connection can have at most 1,024 subscriptions.",
  },
  RequestTooBig: {
    code: -32007,
    title: "Request too big",
    description:
      "The request is larger than `max_request_body_size`, or has more than 131,072 values and no valid token. Over HTTP the status is 413.",
  },
  ResponseTooBig: {
    code: -32008,
    title: "Response too big",
    description:
      "The answer would be larger than `max_response_body_size`, or than 256 KiB if no call of the request proved a token.",
  },
  Busy: {
    code: -32009,
    title: "Server is busy",
    description:
      "There are too many calls at once (over HTTP with status 429), or the memory for clients is used up (`client_memory_bytes`, status 503). Try again after `Retry-After` or `data.retry_after_seconds`.",
  },
  BatchTooLong: {
    code: -32010,
    title: "Batch too long",
    description: "A batch can have at most 1,000 calls.",
  },
  ParseError: {
    code: 101,
    title: "ParseError",
    description: "A text (token, TOML, …) could not be parsed; `data` can have `line` and `column`.",
  },
  SerializationError: {
    code: 101,
    title: "SerializationError",
    description: "A value could not be turned into JSON.",
  },
  IoError: {
    code: 101,
    title: "IoError",
    description: "The disk or the network failed.",
    reasons: {
      disk_full: "the disk of the files or of the database is full, or its quota is used up",
      unavailable: "the file store is missing or does not answer; try again after `data.retry_after_seconds`",
      blob_missing:
        "the store has lost the content of a file, or holds it damaged; restore the store from a backup, or upload the file again",
      files_missing:
        "the bucket has a record, but the store does not have its files, or not those of the deploy",
      release_not_found: "the release server has no release with this tag for this system",
      no_link_key: "the node has no link key, so it cannot make signed links",
    },
  },
  PermissionDenied: {
    code: 102,
    title: "Permission Denied",
    description: "The token is wrong or expired, or it does not hold the permissions that the method needs.",
    reasons: {
      invalid_credentials: "no token has this name, or the secret or password is wrong",
      expired: "the credentials are right, but `timestamp_to` of the token has passed",
      not_yet_valid: "the credentials are right, but `timestamp_from` of the token is still to come",
      code_missing: "the person signs in with a code of an app, too; send it as `code`",
      wrong_code: "the code is wrong, was used before, or is of another time",
      too_many_codes:
        "too many codes were wrong; none is checked before `data.retry_at`, in Unix milliseconds",
      missing_permission:
        "the token is valid but does not hold the permissions that the call needs. `data.permissions` lists the missing ones and `data.scope` their scope, both in the form that `token_explain` takes; without `data.scope`, one of them in any scope is enough. `data.super_token` is true if only the Super Token may make the call. With `field` `timestamp_to`, `data.limit` is the latest time that the new token can have",
    },
  },
  DatabaseError: {
    code: 103,
    title: "DatabaseError",
    description: "The database refused the statement or could not be reached.",
    reasons: {
      unavailable:
        "the database is away, locked by another process, or busy; try again after `data.retry_after_seconds`. If `data.outcome` is `unknown`, the change may have been made: check before you try again",
      sql_timeout:
        "a statement of `node-server_exec_sql` ran for `data.limit` milliseconds (`sql_timeout_ms`) and was stopped. `data.kept` is the number of statements that are committed, or null if unknown",
      abandoned:
        "the client disconnected, and its statement was stopped; `data.kept` as for `sql_timeout`. Only the log shows this reason",
      schema_newer: "a newer version made the database; this version does not know `data.migration`",
      older_nodes:
        "nodes of an older version are running (`data.nodes`), and they could not use the database after `data.migration`",
    },
  },
  NotFound: {
    code: 105,
    title: "NotFound",
    description: "The object that the call names does not exist.",
    reasons: { no_upload: "the upload has ended or was never begun; begin it again" },
  },
  UuidNotFound: { code: 106, title: "UuidNotFound", description: "No agent has this UUID." },
  ConfigNotFound: { code: 107, title: "ConfigNotFound", description: "The configuration file is missing." },
  InvalidInput: {
    code: 108,
    title: "InvalidInput",
    description: "A value has the right type but is not acceptable.",
    reasons: {
      is_folder: "there is a folder at `data.path`, but the call needs a file or a free path",
      is_file: "there is a file at `data.path` or above it, but the call needs a folder",
      bucket_exists: "a bucket of this name exists (`data.bucket`)",
      bucket_name: "the name has other characters than A-Z a-z 0-9 _ . -, none, or more than 128",
      bucket_path: "the folder is not a relative path of such names, or is too long",
      folder_overlaps: "the folder is that of the bucket `data.bucket`, or above or below it",
      root_taken: "the bucket `data.bucket` is the HTTP root already",
      host_name: "`data.host` is not a host name that a bucket can have",
      host_taken: "the host name `data.host` belongs to the bucket `data.bucket` already",
      path_taken:
        "the call needs a free path, but the path has a file, a folder, or files, versions or deploys of an earlier bucket",
      too_deep: "the longest path below the folder at `data.path` would be too long for the store",
      name_too_long: "a name in `data.path`, or the whole path, is too long for the store",
      name_not_accepted: "the disk does not accept a name in `data.path`",
      taken: "another token has this user name",
      confusable: "the user name looks like the user name of another token",
      ambiguous:
        "the text is the key of one token and the user name of another; `data.username_of` is the key of the latter",
      older_nodes:
        "nodes of an older version are running (`data.nodes`), and they do not know private buckets",
      too_many_cursors: "the server has the maximum number of open cursors (`data.limit`)",
      deploy_closed: "the deploy accepts no more files",
      too_many_deploys:
        "the bucket already has the maximum number of deploys that wait for their publication (`data.limit`)",
      too_many_links: "the bucket already has the maximum number of links (`data.limit`)",
      public_bucket:
        "a password or a limit of a link protects nothing, because everybody can read the file at `data.address`",
      no_thumbnail: "the file is not a picture that the server can make smaller",
      too_many_uploads: "the bucket or the token already has the maximum number of unfinished uploads",
      upload_busy: "another request is adding to this upload or finishing it",
      upload_offset: "the request does not begin at `data.offset`, where the stored content ends",
      upload_length: "the body goes beyond the declared length of the upload",
      limited_here:
        "the server has ordered as many certificates as it may in an hour; try again at `data.retry_at`, in Unix milliseconds",
      digest_mismatch: "the content does not match its digest; send the file again",
    },
  },
  Other: {
    code: 999,
    title: "Other",
    description: "Anything else.",
    reasons: {
      bucket_moved:
        "the bucket's folder was changed during the call; nothing was changed, so send the call again",
      update_running: "another update is running",
      release_url_missing: "`release_url` is not set in the configuration",
      no_versions: "the file store does not keep deleted and replaced files",
      locked: "a WebDAV client has locked `data.path` until `data.until`; WebDAV answers 423",
      in_use: "`data.by` has been changing the bucket as a whole since `data.since`; `data.what` says how",
      deploy_open: "`data.by` is deploying to the bucket; `data.touched` is the time of its last upload",
      other_file_system: "the bucket's folder is a link, or on another file system than `static_path`",
      other_link_key: "this node's link key is not the key that the database belongs to",
    },
  },
} as const satisfies Readonly<Record<string, FaultRow>>;

/**
 * `retryAfterSeconds` is when to try again what was refused with the reason `unavailable`: an outage rarely lasts less than a few
 * seconds.
 */
export const retryAfterSeconds = 5;

export type FaultKind = keyof typeof faultKinds;
/** FaultReason is a value of `data.reason`: one of those in the table. */
export type FaultReason = { [K in FaultKind]: ReasonsOf<(typeof faultKinds)[K]> }[FaultKind];
type ReasonsOf<Row> = Row extends { readonly reasons: infer Reasons } ? keyof Reasons : never;
const faultReasons: ReadonlySet<unknown> = new Set(
  Object.values(faultKinds).flatMap((row: FaultRow) => Object.keys(row.reasons ?? {})),
);

/** `faultReason` returns a text from a server as a reason; undefined for one that is not in the table. */
export function faultReason(text: unknown): FaultReason | undefined {
  return faultReasons.has(text) ? (text as FaultReason) : undefined;
}

/** FaultData is what an error says to programs. */
export type FaultData = Readonly<Record<string, unknown>> & { readonly reason?: FaultReason };

/** DenialReason says why a call was refused: `data.reason` of every `PermissionDenied`. */
export type DenialReason = keyof (typeof faultKinds)["PermissionDenied"]["reasons"];

/**
 * Fault is an error that the server reports on purpose. Its message is `<title>: <detail>`; on the wire the detail is also
 * `data.detail`.
 */
export class Fault extends Error {
  override readonly name = "Fault";

  constructor(
    readonly kind: FaultKind,
    /** The problem and what to do about it, for people. Never contains a secret. */
    readonly detail: string,
    /** The same facts for programs: `field`, `line`, `column`, `path`, `reason`, … */
    readonly data: FaultData = {},
    options?: ErrorOptions,
  ) {
    const { title, bare }: FaultRow = faultKinds[kind];
    super(bare ? title : `${title}: ${detail}`, options);
  }

  get code(): number {
    return faultKinds[this.kind].code;
  }
}

/** `messageOf` returns the message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `codeOf` returns the system's code of an error (`ENOENT`, `EADDRINUSE`, …); undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** outOfDescriptors is the error text when the process, or the system, has no file descriptor left. */
export const outOfDescriptors =
  "too many files and connections are open; try again, or raise the server's limit of open files (ulimit -n, LimitNOFILE)";

/** isOutOfDescriptors returns whether an error came from the limit of open files: it passes by itself. */
export function isOutOfDescriptors(error: unknown): boolean {
  const code = systemCodeOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

/** isDiskFull returns whether an error came from a full disk, or a used-up quota, of the files or of the database. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Fault && error.data.reason === "disk_full") return true;
  const code = systemCodeOf(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}

function systemCodeOf(error: unknown): string | undefined {
  return error instanceof Fault ? codeOf(error.cause) : codeOf(error);
}

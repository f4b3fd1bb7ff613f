import { z } from "zod";

const text = z.string();

/** Who made a change and from where; every audit entry has these fields. */
const actor = {
  token_key: text.optional(),
  username: text.optional(),
  address: text,
};
const file = { bucket: text, path: text };
const deploy = { bucket: text, deploy: text };
const bulk = { ...file, count: z.int().optional(), folder: text.optional() };
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
  "token.edited": audited("A token got other limits.", { target_key: text }),
  "token.deleted": audited("A token was deleted.", { target_key: text }),
  "token.password_changed": audited("A token got another password.", { target_key: text }),
  "token.secret_rolled": audited(
    "A token got another secret. With `by`, the command of that name gave the Super Token a new key, secret and password on the machine itself, at the time `at`.",
    { target_key: text, by: z.literal("roll-super-token").optional(), at: text.optional() },
  ),
  "bucket.created": audited("A bucket was created.", { bucket: text, settings }),
  "bucket.updated": audited("These settings of a bucket were changed.", { bucket: text, settings }),
  "bucket.deleted": audited(
    "A bucket was deleted; its files stay where they are. With `files`, its files, deploys and kept versions were deleted, too.",
    { bucket: text, files: z.literal(true).optional() },
  ),
  "file.written": audited(
    "A file was written. In the memory of the log, one entry about files may stand for `count` of them, all below `folder`; `path` is the last one.",
    { ...bulk, bytes: z.int() },
  ),
  "file.deleted": audited("A file was deleted, or a folder with its content. `failures` could not be.", {
    ...bulk,
    failures,
  }),
  "file.moved": audited("A file or a folder was moved to `to`.", { ...bulk, to: text, failures }),
  "file.copied": audited("A file or a folder was copied to `to`.", { ...bulk, to: text, failures }),
  "file.restored": audited(
    "A version of a file, or a deleted folder, was put back; `version` is the change that had removed it, and `from` the path that it had, if that was another.",
    { ...bulk, version: z.int(), from: text.optional() },
  ),
  "file.purged": audited(
    "Everything that was kept of deleted and replaced files of a bucket was purged; `versions` is how many there were.",
    { bucket: text, versions: z.int() },
  ),
  "file.described": audited("Properties or times of a file or a folder were changed.", bulk),
  "folder.created": audited("A folder was created.", bulk),
  "transfer.begun": audited("A program began to change the site of a bucket as a whole, as `push` does.", {
    bucket: text,
    what: text,
  }),
  "transfer.ended": audited("It has ended that.", { bucket: text }),
  "link.made": audited(
    "A signed link was made; it is good until `expires`. `link` is its id, if it is stored.",
    {
      ...file,
      kind: z.enum(["download", "upload", "zip"]),
      expires: z.int(),
      link: text.optional(),
    },
  ),
  "link.used": audited(
    "A file was read by a link that is counted or has a password, or uploaded by a link. `token_key` is the token that made the link, `address` the client that used it.",
    { ...bulk, kind: z.enum(["download", "upload", "zip"]), link: text.optional() },
  ),
  "link.secret_rolled": audited(
    "The secret of all signed links was replaced, which ended all links of all buckets.",
    {},
  ),
  "link.revoked": audited("A signed link was revoked, or without `link` all links of the bucket.", {
    bucket: text,
    link: text.optional(),
  }),
  "deploy.begun": audited("A deploy was begun.", deploy),
  "deploy.filled": audited("`taken` files that the bucket has were taken over into a deploy.", {
    ...deploy,
    taken: z.int(),
  }),
  "deploy.shown": audited(
    "An address was made at which a deploy can be seen, until `expires` (Unix milliseconds).",
    {
      ...deploy,
      expires: z.int(),
    },
  ),
  "deploy.published": audited("A deploy was published; `replaced` is the one that was published before.", {
    ...deploy,
    replaced: text.optional(),
  }),
  "deploy.rolled_back": audited(
    "An earlier deploy was published again; `replaced` is the one that was published before.",
    { ...deploy, replaced: text.optional() },
  ),
  "deploy.deleted": audited("A deploy was deleted, with its files.", deploy),
  "config.edited": audited("The configuration file was replaced.", {}),
  "sql.executed": audited(
    "SQL that can write was run. `statements` are the first words of its statements; those of one that failed may have been committed before the failure.",
    { statements: z.array(text).readonly(), outcome: z.enum(["succeeded", "failed"]) },
  ),
  "update.requested": audited("A release was installed; the restart follows.", { tag: text }),
  "sign_in.failed": audited(
    "Credentials were refused. Of one name at one address one entry is made in ten seconds; `count` says how many failures it stands for, and `reason` is that of the last one. With `link` the password of that signed link was wrong. With `other_names` they are of several names and none is shown; with `other_addresses` they are of several addresses too, and that of the last one is shown.",
    {
      /** Of a password of a signed link: its id. */
      link: text.optional(),
      reason: z.enum(["invalid_credentials", "expired", "not_yet_valid"]),
      count: z.int(),
      other_names: z.literal(true).optional(),
      other_addresses: z.literal(true).optional(),
    },
  ),
} as const;

export type AuditCode = keyof typeof auditEvents;

/** `isBulkEvent` tells whether a client may cause thousands of these in a row, as by an upload of a folder. */
export function isBulkEvent(code: unknown): boolean {
  return (
    typeof code === "string" &&
    /^(?:file|folder)\.|^link\.used$/.test(code) &&
    Object.hasOwn(auditEvents, code)
  );
}

import { z } from "zod";
import { fitsTokenText, keyOfWholeToken, loggedName } from "../auth/credentials.ts";
import { permissionJson, scopeJson, toGrant, tokenLimit, toScope } from "../auth/limit.ts";
import { anyToken, globally, superToken } from "../auth/need.ts";
import { labelProblem, type TokenRecord, usernameProblem } from "../auth/tokens.ts";
import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/json.ts";
import { nextTurn } from "../base/turns.ts";
import { tokenText } from "../rpc/method.ts";
import { method } from "./declare.ts";

const unixMs = z.int().nonnegative();
export const password = z.string().min(6).max(1024).meta({ writeOnly: true });
/** `target` names a token that a method is about. */
export const target = z.string().min(1).max(512).transform(toTarget).describe("a token's key or user name");
const username = z
  .string()
  .min(1)
  .max(128)
  .superRefine((name, context) => {
    const problem = usernameProblem(name);
    if (problem !== undefined) context.addIssue(problem);
  })
  .describe(
    "no invisible characters, no white space at the ends, one writing system, and not similar to another token's key or user name; a name with `:` does not work for Basic authentication (WebDAV), a name with `|` does not work in `<username>|<password>`",
  );

const label = z
  .string()
  .min(1)
  .max(100)
  .superRefine((name, context) => {
    const problem = labelProblem(name);
    if (problem !== undefined) context.addIssue(problem);
  })
  .describe("a label for people; no invisible characters, and no white space at the ends");

const barNote =
  "this user name holds `|`, where `<username>|<password>` would end it; sign in with key and secret, or over WebDAV by Basic authentication";
const keyAndSecret = z.object({ key: z.string(), secret: z.string() });

const tokenRecord = z
  .object({
    version: z.int(),
    token_key: z.string(),
    timestamp_from: unixMs.nullable(),
    timestamp_to: unixMs.nullable(),
    token_limit: z.unknown().describe("as given to token_create"),
    username: z.string().nullable(),
    created_by: z
      .string()
      .nullable()
      .describe(
        "the key of the token that created this one; null if the Super Token did, or if it was not recorded",
      ),
    name: z.string().nullable().describe("a label for people"),
    created_at: unixMs.nullable().describe("null if it was not recorded"),
    last_used_at: unixMs
      .nullable()
      .describe(
        "to the minute; a use on another node can be missing for up to a minute; null if the token was never used, or if it was not recorded",
      ),
    super: z.literal(true).optional().describe("set for the Super Token"),
  })
  .meta({ id: "Token" });

export const token = {
  token_create: method({
    doc: "Creates a token and returns its secret, which no later call returns. A caller other than the Super Token can grant only permissions that it holds.",
    need: globally("token.create"),
    effect: "changes",
    params: {
      father_token: tokenText,
      token_creation: z.object({
        token_limit: tokenLimit,
        username: username.nullish(),
        password: password.nullish(),
        timestamp_from: unixMs.nullish(),
        timestamp_to: unixMs.nullish(),
        name: label.nullish(),
      }),
    },
    credential: ({ father_token }) => father_token,
    result: keyAndSecret.extend({
      note: z.string().optional().describe("what to know for signing in, if the user name contains `|`"),
    }),
    secretResult: true,
    fails: ["InvalidInput"],
    example: {
      params: {
        father_token: "<SUPER_TOKEN>",
        token_creation: {
          name: "website, read-only",
          token_limit: [
            { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
          ],
        },
      },
      result: { key: "c3vRzqVb0Ytn1cUa", secret: "R6Qm2sdbZ7mVbWcVgXo3kqTz1uJ8yLhN" },
    },
    run: async ({ tokens, caller, audit }, { token_creation }) => {
      const created = await tokens.create(caller, token_creation);
      audit("token.created", { target_key: created.key });
      const { username } = token_creation;
      return username == null || fitsTokenText(username) ? created : { ...created, note: barNote };
    },
  }),
  token_get: method({
    doc: "Returns a token without its hashes: the caller's own token, or with `supertoken` any token by its key or user name.",
    need: ({ supertoken }) => (supertoken == null ? anyToken : superToken),
    effect: "reads",
    params: {
      token: z.string().min(1).describe("the caller's token; with `supertoken` a key or user name"),
      supertoken: tokenText.nullish(),
    },
    credential: ({ token, supertoken }) => supertoken ?? token,
    result: tokenRecord,
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: { token: "alice", supertoken: "<SUPER_TOKEN>" },
      result: {
        version: 1,
        token_key: "c3vRzqVb0Ytn1cUa",
        timestamp_from: null,
        timestamp_to: null,
        token_limit: [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }],
        username: "alice",
        created_by: null,
        name: "laptop of Alice",
        created_at: 1794707501291,
        last_used_at: null,
      },
    },
    run: ({ tokens, caller }, { token, supertoken }) =>
      supertoken == null ? tokens.own(caller.key) : tokens.get(toTarget(token)),
  }),
  token_list_all_tokens: method({
    doc: "Lists all tokens, sorted by id.",
    need: superToken,
    effect: "reads",
    params: {},
    result: z.object({ tokens: z.array(tokenRecord) }),
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        tokens: [
          {
            version: 1,
            token_key: "eIWPZ6CqJxc2xuH4",
            timestamp_from: null,
            timestamp_to: null,
            token_limit: [],
            username: "root",
            created_by: null,
            name: null,
            created_at: 1794707501291,
            last_used_at: 1794707561000,
            super: true,
          },
        ],
      },
    },
    fails: ["ResponseTooBig"],
    run: ({ tokens, limits, resultBudgetBytes }) =>
      listResult(tokens.list(), resultBudgetBytes, limits().maxAnswerBytes),
  }),
  token_edit: method({
    doc: "Replaces all limits of a token with `limit`. Send every limit that should stay, including those that you do not know. With `name` it also renames the token; null removes the name. The Super Token cannot be edited.",
    need: superToken,
    effect: "destroys",
    warning: "From the next call on, the token may do only what you send here.",
    params: {
      target_token: target,
      limit: tokenLimit,
      name: label.nullish().describe("left out: the name stays; null: the name is removed"),
    },
    logged: { target_token: loggedName },
    result: z.object({ success: z.literal(true), id: z.int(), token_key: z.string() }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: {
        token: "<SUPER_TOKEN>",
        target_token: "alice",
        limit: [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }],
      },
      result: { success: true, id: 2, token_key: "c3vRzqVb0Ytn1cUa" },
    },
    run: async ({ tokens, audit }, { target_token, limit, name }) => {
      const edited = await tokens.edit(target_token, { limits: limit, name });
      audit("token.edited", { target_key: edited.token_key });
      return { success: true as const, ...edited };
    },
  }),
  token_delete: method({
    doc: "Deletes a token. Tokens that it created stay valid; the result says how many. The Super Token cannot be deleted.",
    need: superToken,
    effect: "destroys",
    warning: "The token is invalid at once and cannot be restored.",
    params: { target_token: target },
    logged: { target_token: loggedName },
    result: z.object({
      message: z.string(),
      rows_affected: z.int(),
      matched_by: z.enum(["token_key", "username"]),
      created_tokens_left: z
        .int()
        .describe(
          "the number of tokens that it created and that still exist; `token_list_all_tokens` shows its key as their `created_by`",
        ),
    }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: { token: "<SUPER_TOKEN>", target_token: "alice" },
      result: { message: "token deleted", rows_affected: 1, matched_by: "username", created_tokens_left: 0 },
    },
    run: async ({ tokens, sessions, secondFactors, audit }, { target_token }) => {
      const { token_key: target_key, ...deleted } = await tokens.delete(target_token);
      await sessions.endAll(target_key);
      await secondFactors.remove(target_key);
      audit("token.deleted", { target_key });
      return { message: "token deleted", ...deleted };
    },
  }),
  token_change_password: method({
    doc: "Sets the password of a token that has a user name. The old password is invalid at once.",
    need: superToken,
    effect: "destroys",
    warning: "The old password is invalid at once.",
    params: { target_token: target, new_password: password },
    logged: { target_token: loggedName },
    result: z.object({ success: z.literal(true), message: z.string() }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: { token: "<SUPER_TOKEN>", target_token: "alice", new_password: "correct horse" },
      result: { success: true, message: "password changed" },
    },
    run: async ({ tokens, audit }, { target_token, new_password }) => {
      const target_key = await tokens.changePassword(target_token, new_password);
      audit("token.password_changed", { target_key });
      return { success: true as const, message: "password changed" };
    },
  }),
  token_roll_token_secret: method({
    doc: "Gives a token a new secret. The old secret is invalid at once.",
    need: superToken,
    effect: "destroys",
    warning:
      "The old secret is invalid at once. Only the answer shows the new one. If you are signed in with this token, you are signed out; to avoid that, use the page Tokens of the console.",
    params: { target_token: target },
    logged: { target_token: loggedName },
    result: keyAndSecret,
    secretResult: true,
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: { token: "<SUPER_TOKEN>", target_token: "alice" },
      result: { key: "c3vRzqVb0Ytn1cUa", secret: "hN1uJ8yLR6Qm2sdbZ7mVbWcVgXo3kqTz" },
    },
    run: async ({ tokens, audit }, { target_token }) => {
      const rolled = await tokens.rollSecret(target_token);
      audit("token.secret_rolled", { target_key: rolled.key });
      return rolled;
    },
  }),
  token_s3_credentials: method({
    doc: "Returns the access key and the secret key with which the token signs requests of S3. They are valid as long as the token's secret, and may do what the token may do. A caller by password is refused, because the keys would outlive a change of the password: call it with the token's key and secret. `host` and `listener` are those of `[s3]`; without either the server does not answer clients of S3.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.object({
      access_key_id: z.string(),
      secret_access_key: z.string(),
      host: z.string().nullable(),
      listener: z.string().nullable(),
    }),
    secretResult: true,
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        access_key_id: "c3vRzqVb0Ytn1cUa",
        secret_access_key: "h5mYxLw2n0cB7QvV1sKq3tG8dJ4rF6aP-Zu9_eXo",
        host: "s3.example.com",
        listener: null,
      },
    },
    run: async ({ tokens, caller, links, s3 }) => {
      if (caller.by === "username")
        throw new Fault(
          "InvalidInput",
          "the keys of S3 would outlive a change of the password; call this with the key and the secret of the token (key:secret) instead of its user name and password",
          { field: "token" },
        );
      await links.claimKey();
      const { host = null, listener = null } = s3();
      return { ...(await tokens.s3Credentials(caller.key)), host, listener };
    },
  }),
};

/** The size of JSON that is written before other calls get their turn. */
const bytesPerTurn = 1024 * 1024;

/** `listResult` writes the tokens as JSON text piece by piece. Throws ResponseTooBig as soon as the answer would be too large. */
async function listResult(
  records: AsyncIterable<TokenRecord>,
  maxBytes: number,
  limit: number,
): Promise<RawJson> {
  const texts: string[] = [];
  let bytes = Buffer.byteLength('{"tokens":[]}');
  let inTurn = 0;
  for await (const record of records) {
    const text = JSON.stringify(record);
    texts.push(text);
    inTurn += text.length;
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxBytes)
      throw new Fault(
        "ResponseTooBig",
        `the first ${texts.length - 1} tokens already exceed ${limit} bytes (max_response_body_size); ask for one by its key or user name (token_get), or for some columns of table token (node-server_exec_sql)`,
        { limit },
      );
    if (inTurn < bytesPerTurn) continue;
    inTurn = 0;
    await nextTurn();
  }
  return new RawJson(`{"tokens":[${texts.join(",")}]}`);
}

/**
 * `toTarget` returns the key or user name to look up. People paste a whole token where its key is expected; its secret goes no further.
 */
function toTarget(text: string): string {
  return keyOfWholeToken(text) ?? text;
}

export const tokenExplain = {
  token_explain: method({
    doc: "Returns whether a token holds a permission in a scope, and which of its limits grants it. It explains the caller's own token, or with `target_token` any token.",
    need: ({ target_token }) => (target_token == null ? anyToken : superToken),
    effect: "reads",
    params: {
      permission: permissionJson,
      scope: scopeJson,
      target_token: target.nullish(),
    },
    logged: { target_token: (name) => (name == null ? name : loggedName(name)) },
    result: z.object({
      token_key: z.string(),
      allowed: z.boolean(),
      reason: z.enum(["super_token", "granted", "not_granted", "expired", "not_yet_valid"]),
      limit: z
        .int()
        .nullable()
        .describe(
          "the first limit that grants it, counted from 0 in `token_limit`; also set for a token that is not valid now",
        ),
      elsewhere: z
        .array(z.int())
        .describe("if no limit grants it: the limits that grant the permission in other scopes"),
    }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: {
        token: "<SUPER_TOKEN>",
        permission: { static_bucket_file: "write" },
        scope: { static_bucket: "site" },
        target_token: "alice",
      },
      result: {
        token_key: "c3vRzqVb0Ytn1cUa",
        allowed: false,
        reason: "not_granted",
        limit: null,
        elsewhere: [],
      },
    },
    run: ({ tokens, caller }, { permission, scope, target_token }) => {
      const [grant] = toGrant(permission);
      const [wanted] = toScope(scope);
      if (grant === undefined || wanted === undefined)
        throw new Fault("InvalidInput", "in the name of a bucket or db one `*` may stand at the end", {
          field: "scope",
        });
      const whose = target_token == null ? { key: caller.key } : { target: target_token };
      return tokens.explain(whose, { grant, scope: wanted });
    },
  }),
};

import {
  bounds,
  type Limit,
  type ParamsOf,
  type Permission,
  patterns,
  type Token,
} from "../../../client/index.ts";
import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";
import { sentences, time } from "../../format.ts";
import { t } from "../../text/text.ts";
import { limitsProblem } from "./limits.ts";

export type PurposeName = "person" | "webdav" | "read" | "deploy" | "watch" | "sql" | "own";

interface Purpose {
  readonly needsBucket: boolean;
  readonly limits: (bucket: string) => Limit[];
}

/** Common purposes of tokens, with their limits. Their words are in the catalogue. */
export const purposes: Readonly<Record<PurposeName, Purpose>> = {
  person: {
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "write", "delete", "list"]),
  },
  webdav: {
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "write", "delete", "list"]),
  },
  read: {
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "list"]),
  },
  deploy: {
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["write", "list", "read", "delete"]),
  },
  watch: {
    needsBucket: false,
    limits: () => [
      {
        scopes: ["global"],
        permissions: [{ node: "read_logs" }, { node: "metrics" }, { node: "read_storage" }],
      },
    ],
  },
  sql: {
    needsBucket: false,
    limits: () => [
      { scopes: ["global"], permissions: [{ node: "exec_sql" }, { node: "get_database_type" }] },
    ],
  },
  own: {
    needsBucket: false,
    limits: () => [{ scopes: ["global"], permissions: [] }],
  },
};

export const purposeNames = Object.keys(purposes) as readonly PurposeName[];

export function parsePurpose(name: string | null): PurposeName | undefined {
  return name !== null && Object.hasOwn(purposes, name) ? (name as PurposeName) : undefined;
}

function inBucket(name: string, actions: ReadonlyArray<"read" | "write" | "delete" | "list">): Limit[] {
  const permissions = actions.map((action): Permission => ({ static_bucket_file: action }));
  return [{ scopes: [{ static_bucket: name }], permissions }];
}

/** Values of the form for a new token. */
export interface TokenDraft {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly limits: readonly Limit[];
  readonly name: string;
  readonly username: string;
  readonly password: string;
  /** Whether the password was generated here, so that it must be shown once. */
  readonly isGenerated: boolean;
  /** Value of a `datetime-local` input. */
  readonly from: string;
  readonly to: string;
}

/** `creator` is given unless it is the Super Token: new tokens cannot outlive their creator. */
export function newDraft(purpose: PurposeName, bucket: string, creator: Token | undefined): TokenDraft {
  const end = creator?.timestamp_to ?? null;
  const draft: TokenDraft = {
    purpose,
    bucket,
    limits: [],
    name: "",
    username: "",
    password: "",
    isGenerated: false,
    from: "",
    to: end === null ? "" : toLocalTime(end),
  };
  return { ...withPurpose(draft, purpose, bucket), limits: purposes[purpose].limits(bucket) };
}

/** Changes the purpose and its limits. The purpose `own` keeps the current limits. */
export function withPurpose(draft: TokenDraft, purpose: PurposeName, bucket: string): TokenDraft {
  const limits = purpose === "own" ? draft.limits : purposes[purpose].limits(bucket.trim());
  const password =
    purpose === "person" && draft.password === "" ? { password: generatePassword(), isGenerated: true } : {};
  return { ...draft, ...password, purpose, bucket, limits };
}

/** Whether the purpose needs a bucket and none is given. */
export function lacksBucket({ purpose, bucket }: Pick<TokenDraft, "purpose" | "bucket">): boolean {
  return purposes[purpose].needsBucket && bucket.trim() === "";
}

/** Problem that prevents creating the token; undefined when there is none. */
export function draftProblem({
  purpose,
  bucket,
  limits,
  name,
  username,
  password,
  from,
  to,
}: TokenDraft): string | undefined {
  if (lacksBucket({ purpose, bucket })) return t.tokens.chooseBucket;
  const wrong =
    limitsProblem(limits) ?? nameProblem(name) ?? usernameProblem(username) ?? passwordProblem(password);
  if (wrong !== undefined) return wrong;
  if (purpose === "person" && (username === "" || password === "")) return t.tokens.personNeedsBoth;
  if (password !== "" && username === "") return t.tokens.passwordNeedsName;
  return validityProblem(from, to);
}

export function validityProblem(from: string, to: string): string | undefined {
  const [begin, end] = [parseLocalTime(from), parseLocalTime(to)];
  return begin !== null && end !== null && end <= begin ? t.tokens.endBeforeStart : undefined;
}

export function toCreation(draft: TokenDraft): ParamsOf<"token_create">["token_creation"] {
  return {
    token_limit: [...draft.limits],
    name: draft.name === "" ? null : draft.name,
    username: draft.username === "" ? null : draft.username,
    password: draft.password === "" ? null : draft.password,
    timestamp_from: parseLocalTime(draft.from),
    timestamp_to: parseLocalTime(draft.to),
  };
}

/** Value of a `datetime-local` input in Unix milliseconds; null when it is empty. */
function parseLocalTime(text: string): number | null {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? null : at;
}

/** Value for a `datetime-local` input, to the minute. */
function toLocalTime(at: number): string {
  return time(at).slice(0, 16).replace(" ", "T");
}

/** Letters and digits without those that look alike. */
const alphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const passwordLength = 20;

/** Random password with over 110 bits of entropy. */
export function generatePassword(): string {
  let password = "";
  while (password.length < passwordLength) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // Rejecting the last incomplete round of bytes keeps all letters equally likely.
    if (byte < 256 - (256 % alphabet.length)) password += alphabet[byte % alphabet.length];
  }
  return password;
}

/** Reason why the server would refuse a password; undefined for a valid or empty one. */
export function passwordProblem(password: string): string | undefined {
  if (password === "") return undefined;
  if (password.length < bounds.minPasswordLength) return t.tokens.sixOrMore;
  return password.length > bounds.maxPasswordLength ? t.tokens.atMost1024 : undefined;
}

/** Reason why the server would refuse a name, for common mistakes; undefined for an empty one. */
export function nameProblem(name: string): string | undefined {
  if (name.length > bounds.maxTokenNameLength) return t.tokens.atMost100;
  if (patterns.invisible.test(name)) return t.tokens.noInvisible;
  if (name.trim() !== name) return t.tokens.noOuterSpace;
  return undefined;
}

/** Reason why the server would refuse a user name, for common mistakes; undefined for an empty one. */
export function usernameProblem(name: string): string | undefined {
  if (name.length > bounds.maxUsernameLength) return t.tokens.atMost128;
  if (patterns.invisible.test(name)) return t.tokens.noInvisible;
  if (name.trim() !== name) return t.tokens.noOuterSpace;
  if (patterns.tokenKey.test(name) || patterns.wholeToken.test(name)) return t.tokens.looksLikeKey;
  return undefined;
}

/** Hint for the person who chooses a user name. */
export function usernameHint(name: string, hasPassword: boolean): string {
  const hints = [t.tokens.byName];
  if (name !== "" && !hasPassword) hints.push(t.tokens.needsPassword);
  if (name.includes("|")) hints.push(t.tokens.barInName);
  if (!fitsBasicAuth(name)) hints.push(basicAuthHint());
  return sentences(...hints);
}

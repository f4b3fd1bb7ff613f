import type { Limit, ParamsOf, Permission, Token } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { nameProblem, passwordProblem, usernameProblem } from "./credential-rules.ts";
import { limitsProblem } from "./limits.ts";
import { parseLocalTime, toLocalTime } from "./validity.ts";

export type PurposeName = "webdav" | "read" | "deploy" | "watch" | "sql" | "own";

export interface Purpose {
  readonly title: string;
  readonly text: string;
  readonly needsBucket: boolean;
  readonly limits: (bucket: string) => Limit[];
}

/** Common purposes of tokens, with their limits. */
export const purposes: Readonly<Record<PurposeName, Purpose>> = {
  webdav: {
    get title() {
      return t.tokens.webdavTitle;
    },
    get text() {
      return t.tokens.webdavText;
    },
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "write", "delete", "list"]),
  },
  read: {
    get title() {
      return t.tokens.readTitle;
    },
    get text() {
      return t.tokens.readText;
    },
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "list"]),
  },
  deploy: {
    get title() {
      return t.tokens.deployTitle;
    },
    get text() {
      return t.tokens.deployText;
    },
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["write", "list", "read", "delete"]),
  },
  watch: {
    get title() {
      return t.tokens.watchTitle;
    },
    get text() {
      return t.tokens.watchText;
    },
    needsBucket: false,
    limits: () => [
      {
        scopes: ["global"],
        permissions: [{ node: "read_logs" }, { node: "metrics" }, { node: "read_storage" }],
      },
    ],
  },
  sql: {
    get title() {
      return t.tokens.sqlTitle;
    },
    get text() {
      return t.tokens.sqlText;
    },
    needsBucket: false,
    limits: () => [
      { scopes: ["global"], permissions: [{ node: "exec_sql" }, { node: "get_database_type" }] },
    ],
  },
  own: {
    get title() {
      return t.tokens.ownTitle;
    },
    get text() {
      return t.tokens.ownText;
    },
    needsBucket: false,
    limits: () => [{ scopes: ["global"], permissions: [] }],
  },
};

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
  return {
    purpose,
    bucket,
    limits: purposes[purpose].limits(bucket),
    name: "",
    username: "",
    password: "",
    isGenerated: false,
    from: "",
    to: end === null ? "" : toLocalTime(end),
  };
}

/** Changes the purpose and its limits. The purpose `own` keeps the current limits. */
export function withPurpose(draft: TokenDraft, purpose: PurposeName, bucket: string): TokenDraft {
  const limits = purpose === "own" ? draft.limits : purposes[purpose].limits(bucket.trim());
  return { ...draft, purpose, bucket, limits };
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

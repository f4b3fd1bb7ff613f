import type { Limit, ParamsOf, Token } from "../../../client/index.ts";
import { limitsProblem } from "./limits.ts";
import { type PurposeName, purposes } from "./purposes.ts";
import { passwordProblem, usernameProblem } from "./sign-in-words.ts";
import { parseLocalTime, toLocalTime } from "./validity.ts";

/** A token in the making, as it stands in the form. */
export interface Wish {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly limits: readonly Limit[];
  readonly username: string;
  readonly password: string;
  /** The password was made up here, so nobody has seen it elsewhere. */
  readonly isGenerated: boolean;
  /** As in a `datetime-local` input. */
  readonly from: string;
  readonly to: string;
}

/** `creator` when it is not the Super Token: what it makes cannot outlive it. */
export function newWish(purpose: PurposeName, bucket: string, creator: Token | undefined): Wish {
  const end = creator?.timestamp_to ?? null;
  return {
    purpose,
    bucket,
    limits: purposes[purpose].limits(bucket),
    username: "",
    password: "",
    isGenerated: false,
    from: "",
    to: end === null ? "" : toLocalTime(end),
  };
}

/** A purpose decides the limits until somebody changes them by hand, which makes it an own choice. */
export function withPurpose(wish: Wish, purpose: PurposeName, bucket: string): Wish {
  const limits = purpose === "own" ? wish.limits : purposes[purpose].limits(bucket.trim());
  return { ...wish, purpose, bucket, limits };
}

/** A purpose that is for one bucket, before the bucket is named. */
export function isWithoutBucket({ purpose, bucket }: Pick<Wish, "purpose" | "bucket">): boolean {
  return purposes[purpose].needsBucket && bucket.trim() === "";
}

/** What keeps the token from being made; undefined when nothing does. */
export function wishProblem({
  purpose,
  bucket,
  limits,
  username,
  password,
  from,
  to,
}: Wish): string | undefined {
  if (isWithoutBucket({ purpose, bucket })) return "Choose a bucket.";
  const wrong = limitsProblem(limits) ?? usernameProblem(username) ?? passwordProblem(password);
  if (wrong !== undefined) return wrong;
  if (password !== "" && username === "") return "A password needs a user name beside it.";
  return timesProblem(from, to);
}

export function timesProblem(from: string, to: string): string | undefined {
  const [begin, end] = [parseLocalTime(from), parseLocalTime(to)];
  return begin !== null && end !== null && end <= begin ? "It must end later than it begins." : undefined;
}

export function toCreation(wish: Wish): ParamsOf<"token_create">["token_creation"] {
  return {
    token_limit: [...wish.limits],
    username: wish.username === "" ? null : wish.username,
    password: wish.password === "" ? null : wish.password,
    timestamp_from: parseLocalTime(wish.from),
    timestamp_to: parseLocalTime(wish.to),
  };
}

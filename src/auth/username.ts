import { invisible } from "../base/skeleton.ts";
import { keyOfWholeToken, keyPattern } from "./credentials.ts";
import { mixesScripts } from "./scripts.ts";

/** Characters of which nobody knows what they look like elsewhere. */
const unassigned = /[\p{Co}\p{Cn}]/u;

/** The reason why a new token cannot have this user name, whatever other tokens exist; undefined if it can. */
export function usernameProblem(name: string): string | undefined {
  if (name.includes("|")) return "must not hold `|`";
  if (invisible.test(name)) return "must not hold control characters or other invisible characters";
  if (unassigned.test(name))
    return "must not hold characters that Unicode has not assigned or leaves to private use";
  if (mixesScripts(name))
    return "must not mix writing systems, such as Latin and Cyrillic; write it in one of them";
  if (name.trim() !== name) return "must not begin or end with white space";
  // A `target_token` of this form is taken for a whole token, so the user name would never be found.
  if (keyOfWholeToken(name) !== undefined) return "must not have the form of <key>:<secret>";
  if (keyPattern.test(name))
    return "must not have the form of a token key (16 letters and digits); add or remove a character";
  return undefined;
}

import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";
import { sentences } from "../../format.ts";
import { t } from "../../text/text.ts";

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
  if (password.length < 6) return t.tokens.sixOrMore;
  return password.length > 1024 ? t.tokens.atMost1024 : undefined;
}

/** Invisible characters, as in `auth/username.ts` of the server, which checks more. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Reason why the server would refuse a name, for common mistakes; undefined for an empty one. */
export function nameProblem(name: string): string | undefined {
  if (name.length > 100) return t.tokens.atMost100;
  if (invisible.test(name)) return t.tokens.noInvisible;
  if (name.trim() !== name) return t.tokens.noOuterSpace;
  return undefined;
}

/** Reason why the server would refuse a user name, for common mistakes; undefined for an empty one. */
export function usernameProblem(name: string): string | undefined {
  if (name.length > 128) return t.tokens.atMost128;
  if (invisible.test(name)) return t.tokens.noInvisible;
  if (name.trim() !== name) return t.tokens.noOuterSpace;
  if (/^[A-Za-z0-9]{16}(:[A-Za-z0-9]{32})?$/.test(name)) return t.tokens.looksLikeKey;
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

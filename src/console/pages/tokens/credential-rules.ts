import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";

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
  if (password.length < 6) return "It needs 6 characters or more.";
  return password.length > 1024 ? "It can have at most 1,024 characters." : undefined;
}

/** Invisible characters, as in `auth/username.ts` of the server, which checks more. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Reason why the server would refuse a name, for common mistakes; undefined for an empty one. */
export function nameProblem(name: string): string | undefined {
  if (name.length > 100) return "It can have at most 100 characters.";
  if (invisible.test(name)) return "It cannot contain invisible characters.";
  if (name.trim() !== name) return "It cannot start or end with a space.";
  return undefined;
}

/** Reason why the server would refuse a user name, for common mistakes; undefined for an empty one. */
export function usernameProblem(name: string): string | undefined {
  if (name.length > 128) return "It can have at most 128 characters.";
  if (name.includes("|") || invisible.test(name)) return "It cannot contain | or invisible characters.";
  if (name.trim() !== name) return "It cannot start or end with a space.";
  if (/^[A-Za-z0-9]{16}(:[A-Za-z0-9]{32})?$/.test(name))
    return "It looks like the key of a token. Add or remove a character.";
  return undefined;
}

/** Hint for the person who chooses a user name. */
export function usernameHint(name: string, hasPassword: boolean): string {
  const hints = ["To sign in by name instead of by key."];
  if (name !== "" && !hasPassword) hints.push("Without a password nobody can sign in with this name.");
  if (!fitsBasicAuth(name)) hints.push(basicAuthHint);
  return hints.join(" ");
}

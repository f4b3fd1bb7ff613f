import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";

/** Without letters that look alike. */
const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const length = 20;

/** Over 110 bits, every letter as likely as the next. */
export function newPassword(): string {
  let made = "";
  while (made.length < length) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // Bytes above the last whole round would make the first letters likelier.
    if (byte < 256 - (256 % letters.length)) made += letters[byte % letters.length];
  }
  return made;
}

/** What the server would say against it; undefined when it is fine, or there is none. */
export function passwordProblem(password: string): string | undefined {
  if (password === "") return undefined;
  if (password.length < 6) return "It needs 6 characters or more.";
  return password.length > 1024 ? "It can have 1,024 characters at the most." : undefined;
}

/** As in `auth/username.ts` of the server, which has the last word. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The reason why the server would refuse a user name, for the common mistakes; undefined for an empty one. */
export function usernameProblem(name: string): string | undefined {
  if (name.length > 128) return "It can have 128 characters at the most.";
  if (name.includes("|") || invisible.test(name))
    return "It can hold neither | nor control characters nor other invisible ones.";
  if (name.trim() !== name) return "It can neither begin nor end with a space.";
  if (/^[A-Za-z0-9]{16}(:[A-Za-z0-9]{32})?$/.test(name))
    return "It reads like the key of a token. Add or remove a character.";
  return undefined;
}

/** What somebody who chooses a user name should know of it. */
export function usernameHint(name: string, hasPassword: boolean): string {
  const hints = ["To sign in by name, beside the key."];
  if (name !== "" && !hasPassword) hints.push("Without a password nobody can sign in by this name.");
  if (!fitsBasicAuth(name)) hints.push(basicAuthHint);
  return hints.join(" ");
}

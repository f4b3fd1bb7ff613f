import { fitsBasic, notByBasic } from "../../basic-auth.ts";

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

/** What the server would say against a user name; undefined when it is fine, or there is none. */
export function usernameProblem(name: string): string | undefined {
  if (name.length > 128) return "It can have 128 characters at the most.";
  return /[|\p{Cc}\p{Cs}]/u.test(name) ? "It can hold neither | nor control characters." : undefined;
}

/** What somebody who chooses a user name should know of it. */
export function usernameHint(name: string, hasPassword: boolean): string {
  const hints = ["To sign in by name, beside the key."];
  if (name !== "" && !hasPassword) hints.push("Without a password nobody can sign in by this name.");
  if (!fitsBasic(name)) hints.push(notByBasic);
  return hints.join(" ");
}

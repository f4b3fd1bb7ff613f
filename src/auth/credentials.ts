import { Fault } from "../base/fault.ts";

/** What a caller claims, not yet believed. */
export type Credentials =
  | { readonly by: "key"; readonly name: string; readonly proof: string }
  | { readonly by: "username"; readonly name: string; readonly proof: string };

/** Longer texts are no token; reading them would only cost. */
const longest = 4096;

/** `<key>:<secret>` or `<username>|<password>`: the first separator decides, the rest belongs to the proof. */
export function parseCredentials(text: string): Credentials {
  const at = text.search(/[:|]/);
  if (at <= 0 || at === text.length - 1 || text.length > longest) {
    throw new Fault("ParseError", "the token must read <key>:<secret> or <username>|<password>", {
      field: "token",
    });
  }
  return { by: text[at] === ":" ? "key" : "username", name: text.slice(0, at), proof: text.slice(at + 1) };
}

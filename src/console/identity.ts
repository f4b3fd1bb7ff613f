import { type NodeServerClient, PermissionDenied, type Token } from "../client/index.ts";
import { Rights } from "./rights.ts";

/** A token that the server accepts, and whose it is. */
export interface Identity {
  readonly token: string;
  readonly me: Token;
  readonly rights: Rights;
}

/** Throws what the server says against the token. `client` must send that token. */
export async function identify(client: NodeServerClient, token: string): Promise<Identity> {
  // One after the other: a wrong token is refused, and logged, once.
  const me = await client.call("token_get");
  return { token, me, rights: new Rights(me, await isSuper(client)) };
}

/** Only the Super Token may list all buckets. */
async function isSuper(client: NodeServerClient): Promise<boolean> {
  try {
    await client.call("static-bucket_list");
    return true;
  } catch (error) {
    if (error instanceof PermissionDenied) return false;
    throw error;
  }
}

/** Why a token ended, in a sentence. */
export function endOf(error: PermissionDenied): string {
  return error.reason === "expired"
    ? "The token has expired."
    : "The server no longer accepts this token: it was revoked, or its secret or password was changed.";
}

import { type NodeServerClient, PermissionDenied } from "../../../client/index.ts";
import { isKeptByBrowser } from "../../kept-token.ts";
import { signIn } from "../../session.ts";

/**
 * After a change of one's own secret or password: goes on with the new one if the old one was what one signed in with. Answers
 * what to tell about it.
 */
export async function goOnWith(client: NodeServerClient, token: string): Promise<string> {
  try {
    await client.call("token_get");
    return "You stay signed in: you did not sign in with it.";
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
  }
  await signIn(token, isKeptByBrowser());
  return "You stay signed in here, with the new one. Elsewhere you must sign in again.";
}

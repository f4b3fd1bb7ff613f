import type { Token } from "../../../client/index.ts";
import { plural } from "../../format.ts";
import { type Session, signInAgain } from "../../session.ts";
import { confirm } from "../../ui/dialog.tsx";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { limitSummary } from "./limits.ts";
import { newSecret } from "./new-secret.tsx";

export function displayName({ username, token_key }: Token): string {
  return username ?? token_key;
}

/** Asks, then replaces the secret and shows the new one. */
export async function rotateSecret(session: Session, token: Token): Promise<void> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  const sure = await confirm({
    title: `Rotate the secret of ${displayName(token)}?`,
    text: isOwn
      ? "This is the token that you are signed in with. The old secret stops working at once: everybody who signed in with it is signed out. This tab continues with the new one."
      : "The old secret stops working at once. Everybody who uses it is refused until they have the new one.",
    action: "Rotate secret",
    danger: true,
  });
  if (!sure) return;
  const pair = await client.call("token_roll_token_secret", { target_token: token.token_key });
  const shown = { ...pair, title: `The new secret of ${displayName(token)}`, by: me.token_key };
  newSecret.value = shown;
  if (!isOwn) return;
  const note = await continueSession(session, `${pair.key}:${pair.secret}`).catch(
    (error: unknown) => `You will be signed out: sign in again with the new secret. (${explain(error)})`,
  );
  if (newSecret.value === shown) newSecret.value = { ...shown, note };
}

/** Asks, then deletes a token. Resolves to whether it was deleted. */
export async function deleteToken({ client }: Session, token: Token): Promise<boolean> {
  const sure = await confirm({
    title: `Delete ${displayName(token)}?`,
    text: `Everything that uses it is refused from the next call on: consoles, scripts and mounted drives. Its current rights: ${limitSummary(token.token_limit).join(" ")} This cannot be undone.`,
    action: "Delete",
    danger: true,
  });
  if (!sure) return false;
  const { created_tokens_left: left } = await client.call("token_delete", { target_token: token.token_key });
  const [works, them] = left === 1 ? ["works", "it"] : ["work", "them"];
  const more =
    left === 0
      ? ""
      : ` ${plural(left, "token")} that it created still ${works}: find ${them} by ${token.token_key}.`;
  toast(`Token ${displayName(token)} deleted.${more}`);
  return true;
}

/** Changes a password. The session continues with the new one if it was signed in with the old one. */
export async function changePassword(session: Session, token: Token, password: string): Promise<void> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  await client.call("token_change_password", { target_token: token.token_key, new_password: password });
  const more = isOwn ? ` ${await continueSession(session, `${token.username}|${password}`)}` : "";
  toast(`Password of ${displayName(token)} changed.${more}`);
}

/**
 * Continues the session after its own secret or password changed, if it was signed in with the old one. Resolves to a sentence for
 * the person.
 */
async function continueSession(session: Session, token: string): Promise<string> {
  if (await session.isAccepted()) return "You stay signed in: you did not sign in with it.";
  await signInAgain(session, token);
  return "You stay signed in here, with the new one. Elsewhere you must sign in again.";
}

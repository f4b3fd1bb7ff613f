import type { Token } from "../../../client/index.ts";
import { plural } from "../../format.ts";
import type { Session } from "../../session.ts";
import { confirm } from "../../ui/dialog.tsx";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { limitWords } from "./limits.ts";
import { made } from "./made.ts";
import { goOnWith } from "./own-session.ts";

export function nameOf({ username, token_key }: Token): string {
  return username ?? token_key;
}

/** A new secret, after asking; shown at once. */
export async function rollSecret(session: Session, token: Token): Promise<void> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  const sure = await confirm({
    title: `Rotate the secret of ${nameOf(token)}?`,
    text: isOwn
      ? "This is the token that you are signed in with. Its old secret ends at once: everybody who signed in with it is signed out. In this tab you go on with the new one."
      : "The old secret ends at once. Whoever uses it is refused until they have the new one.",
    action: "Rotate secret",
    danger: true,
  });
  if (!sure) return;
  const pair = await client.call("token_roll_token_secret", { target_token: token.token_key });
  const shown = { ...pair, title: `The new secret of ${nameOf(token)}`, by: me.token_key };
  made.value = shown;
  if (!isOwn) return;
  const note = await goOnWith(session, `${pair.key}:${pair.secret}`).catch(
    (error: unknown) => `You will be signed out: sign in again with the new secret. (${explain(error)})`,
  );
  if (made.value === shown) made.value = { ...shown, note };
}

/** Answers whether it is gone. */
export async function deleteToken({ client }: Session, token: Token): Promise<boolean> {
  const sure = await confirm({
    title: `Delete ${nameOf(token)}?`,
    text: `Whoever uses it is refused from the next call on: consoles, scripts and mounted drives. It may do this now: ${limitWords(token.token_limit).join(" ")} This cannot be undone.`,
    action: "Delete",
    danger: true,
  });
  if (!sure) return false;
  const { created_tokens_left: left } = await client.call("token_delete", { target_token: token.token_key });
  const [works, them] = left === 1 ? ["works", "it"] : ["work", "them"];
  const more =
    left === 0
      ? ""
      : ` ${plural(left, "token")} that it made still ${works}: find ${them} by ${token.token_key}.`;
  toast(`Token ${nameOf(token)} deleted.${more}`);
  return true;
}

/** Goes on with the new password where the old one was what one signed in with. */
export async function changePassword(session: Session, token: Token, password: string): Promise<void> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  await client.call("token_change_password", { target_token: token.token_key, new_password: password });
  const more = isOwn ? ` ${await goOnWith(session, `${token.username}|${password}`)}` : "";
  toast(`Password of ${nameOf(token)} changed.${more}`);
}

import type { Token } from "../../../client/index.ts";
import type { Session } from "../../session.ts";
import { confirm } from "../../ui/dialog.tsx";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { mayLeave } from "../../unfinished.ts";
import { limitWords } from "./limits.ts";
import { made } from "./made.ts";
import { goOnWith } from "./own-session.ts";

const newSession = "You are signed in anew. Go on?";

export function nameOf({ username, token_key }: Token): string {
  return username ?? token_key;
}

/** A new secret, after asking; shown at once. */
export async function rollSecret({ client, me }: Session, token: Token): Promise<void> {
  const isOwn = token.token_key === me.token_key;
  const sure = await confirm({
    title: `Roll the secret of ${nameOf(token)}?`,
    text: isOwn
      ? "This is the token that you are signed in with. Its old secret ends at once: everybody who signed in with it is signed out. In this tab you go on with the new one."
      : "The old secret ends at once. Whoever uses it is refused until they have the new one.",
    action: "Roll the secret",
    danger: true,
  });
  if (!sure || (isOwn && !(await mayLeave(newSession, "Roll the secret")))) return;
  const pair = await client.call("token_roll_token_secret", { target_token: token.token_key });
  const shown = { ...pair, title: `The new secret of ${nameOf(token)}`, by: me.token_key };
  made.value = shown;
  if (!isOwn) return;
  const note = await goOnWith(client, `${pair.key}:${pair.secret}`).catch(
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
  await client.call("token_delete", { target_token: token.token_key });
  toast(`The token ${nameOf(token)} is deleted.`);
  return true;
}

/** Answers whether it is changed. */
export async function changePassword(
  { client, me }: Session,
  token: Token,
  password: string,
): Promise<boolean> {
  const isOwn = token.token_key === me.token_key;
  if (isOwn && !(await mayLeave(newSession, "Change the password"))) return false;
  await client.call("token_change_password", { target_token: token.token_key, new_password: password });
  const more = isOwn ? ` ${await goOnWith(client, `${token.username}|${password}`)}` : "";
  toast(`The password of ${nameOf(token)} is changed.${more}`);
  return true;
}

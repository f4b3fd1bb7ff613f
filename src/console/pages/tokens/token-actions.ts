import { ClientError, type Token } from "../../../client/index.ts";
import { listed, sentences } from "../../format.ts";
import { type Session, signInAgain } from "../../session.ts";
import { t } from "../../text/text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
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
    title: t.tokens.rotateQuestion(displayName(token)),
    text: isOwn ? t.tokens.rotateOwn : t.tokens.rotateOther,
    action: t.tokens.rotate,
    danger: true,
  });
  if (!sure) return;
  const pair = await client.call("token_roll_token_secret", { target_token: token.token_key });
  const shown = { ...pair, title: t.tokens.newSecretOf(displayName(token)), by: me.token_key };
  newSecret.value = shown;
  if (!isOwn) return;
  const note = await continueSession(session, `${pair.key}:${pair.secret}`).catch((error: unknown) =>
    t.tokens.willSignOut(explain(error)),
  );
  if (newSecret.value === shown) newSecret.value = { ...shown, note };
}

/** Asks, then deletes a token. Resolves to whether it was deleted. */
export async function deleteToken({ client }: Session, token: Token): Promise<boolean> {
  const sure = await confirm({
    title: t.tokens.deleteQuestion(displayName(token)),
    text: t.tokens.deleteText(
      limitSummary(token.token_limit)
        .join(t.tokens.betweenFamilies)
        .replace(/[.。]$/, ""),
    ),
    action: t.frame.delete,
    danger: true,
  });
  if (!sure) return false;
  const { created_tokens_left: left } = await client.call("token_delete", { target_token: token.token_key });
  const more =
    left === 0 ? "" : t.tokens.createdLeft(t.tokens.countTokens(left), token.token_key, left === 1);
  toast(t.tokens.deleted(displayName(token), more));
  return true;
}

/** Tokens that one request deletes. */
const deletedAtOnce = 100;
/** Names that the question shows. */
const namesShown = 8;

/** Asks once, then deletes several tokens. Resolves to whether any was deleted. */
export async function deleteTokens({ client }: Session, tokens: readonly Token[]): Promise<boolean> {
  const [only] = tokens;
  const count = t.tokens.countTokens(tokens.length);
  const names = tokens.slice(0, namesShown).map((token) => visibleText(token.name ?? displayName(token)));
  const more = tokens.length - names.length;
  const sure = await confirm({
    title: t.tokens.deleteQuestion(tokens.length === 1 && only !== undefined ? displayName(only) : count),
    text: t.tokens.deleteManyText(listed(names), more),
    action: t.frame.delete,
    danger: true,
  });
  if (!sure) return false;
  const failures: ClientError[] = [];
  for (let at = 0; at < tokens.length; at += deletedAtOnce) {
    const part = tokens.slice(at, at + deletedAtOnce);
    const answers = await client.batch(
      part.map(({ token_key }) => ["token_delete", { target_token: token_key }] as const),
    );
    failures.push(...answers.filter((answer) => answer instanceof ClientError));
  }
  const deleted = tokens.length - failures.length;
  if (deleted > 0) toast(t.tokens.deletedMany(t.tokens.countTokens(deleted)));
  const [first] = failures;
  if (first !== undefined)
    toast(t.tokens.notDeleted(t.tokens.countTokens(failures.length), explain(first)), "problem");
  return deleted > 0;
}

/** Changes a password. The session continues with the new one if it was signed in with the old one. */
export async function changePassword(session: Session, token: Token, password: string): Promise<void> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  await client.call("token_change_password", { target_token: token.token_key, new_password: password });
  const more = isOwn ? await continueSession(session, `${token.username}|${password}`) : "";
  toast(sentences(t.tokens.passwordChanged(displayName(token)), more));
}

/**
 * Continues the session after its own secret or password changed, if it was signed in with the old one. Resolves to a sentence for
 * the person.
 */
async function continueSession(session: Session, token: string): Promise<string> {
  if (await session.isAccepted()) return t.tokens.stayOther;
  await signInAgain(session, token);
  return t.tokens.stayHere;
}

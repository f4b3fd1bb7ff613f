import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import {
  ClientError,
  type Limit,
  type Permission,
  type ResultOf,
  type Token,
} from "../../../client/index.ts";
import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";
import { listed, sentences } from "../../format.ts";
import { type Session, serverUrl, signInAgain, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { act, useLoad } from "../../ui/call.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, FormDialog, TextField, typed } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { explain, Problem } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { shellQuote, visibleText } from "../../ui/visible-text.ts";
import { passwordProblem } from "./draft.ts";
import { PasswordField, useBucketNames } from "./fields.tsx";
import {
  families,
  isKnown,
  isSame,
  limitSummary,
  limitText,
  otherText,
  type ScopeKind,
  scopeKinds,
  takesPattern,
  toScope,
} from "./limits.ts";
import { displayName, s3Address } from "./model.ts";

/** Secret that the server has just created and returns only once. */
interface NewSecret {
  readonly title: string;
  readonly key: string;
  readonly secret: string;
  /** Key of the token that created it. The secret is shown only to that token. */
  readonly by: string;
  /** Bucket to show mount instructions for. */
  readonly drive?: string | undefined;
  /** Bucket to show a push command for. */
  readonly deploy?: string | undefined;
  readonly username?: string | undefined;
  readonly hasPassword?: boolean;
  /** Generated password, which is shown only once too. */
  readonly password?: string | undefined;
  readonly note?: string | undefined;
}

/** Secret to show. It outlives the page, so that signing in again does not lose it. */
export const newSecret = signal<NewSecret | undefined>(undefined);

/** Asks, then replaces the secret and shows the new one. */
export function rotateSecret(session: Session, token: Token): Promise<boolean> {
  const { client, me } = session;
  const isOwn = token.token_key === me.token_key;
  const ask = {
    title: t.tokens.rotateQuestion(displayName(token)),
    text: isOwn ? t.tokens.rotateOwn : t.tokens.rotateOther,
    action: t.tokens.rotate,
    danger: true,
  };
  const run = async () => {
    const pair = await client.call("token_roll_token_secret", { target_token: token.token_key });
    const shown = { ...pair, title: t.tokens.newSecretOf(displayName(token)), by: me.token_key };
    newSecret.value = shown;
    if (!isOwn) return;
    const note = await continueSession(session, `${pair.key}:${pair.secret}`).catch((error: unknown) =>
      t.tokens.willSignOut(explain(error)),
    );
    if (newSecret.value === shown) newSecret.value = { ...shown, note };
  };
  return act({ ask, run });
}

/** Asks, then deletes a token. */
export function deleteToken({ client }: Session, token: Token, after: () => void): Promise<boolean> {
  const rights = limitSummary(token.token_limit).join(t.tokens.betweenFamilies);
  return act({
    ask: {
      title: t.tokens.deleteQuestion(displayName(token)),
      text: t.tokens.deleteText(rights.replace(/[.。]$/, "")),
      action: t.frame.delete,
      danger: true,
    },
    run: () => client.call("token_delete", { target_token: token.token_key }),
    done: ({ created_tokens_left: left }) =>
      t.tokens.deleted(
        displayName(token),
        left === 0 ? "" : t.tokens.createdLeft(t.tokens.countTokens(left), token.token_key, left === 1),
      ),
    after,
  });
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
async function changePassword(session: Session, token: Token, password: string): Promise<void> {
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

/** Dialog that shows a new secret once. */
export function NewSecretDialog() {
  const { me } = useSession();
  const [s3KeysOf, setS3KeysOf] = useState<NewSecret>();
  const shown = newSecret.value;
  if (shown === undefined || shown.by !== me.token_key) return null;
  const close = () => {
    newSecret.value = undefined;
  };
  const ask = {
    title: t.tokens.closeQuestion,
    text: t.tokens.closeText,
    action: t.frame.close,
    danger: true,
  };
  const leave = () => void act({ ask, run: async () => close() });
  return (
    <Dialog title={shown.title} onClose={leave}>
      <p>{t.tokens.copyNow}</p>
      {shown.note !== undefined && <p class="notice">{shown.note}</p>}
      <Secrets newSecret={shown} />
      {s3KeysOf === shown && <S3Keys token={`${shown.key}:${shown.secret}`} />}
      <footer>
        {s3KeysOf !== shown && <Button onClick={() => setS3KeysOf(shown)}>{t.tokens.showS3Keys}</Button>}
        <Button kind="primary" onClick={close}>
          {t.tokens.haveCopied}
        </Button>
      </footer>
    </Dialog>
  );
}

function Secrets({
  newSecret: { key, secret, drive, deploy, username, hasPassword, password },
}: {
  readonly newSecret: NewSecret;
}) {
  const { client } = useSession();
  return (
    <dl class="tokens-secrets">
      <Secret name={t.frame.token} text={`${key}:${secret}`} initialFocus />
      {username !== undefined && hasPassword && (
        <>
          <Secret name={t.tokens.byNameUser} text={username} />
          {password === undefined ? (
            <div>
              <dt>{t.frame.password}</dt>
              <dd>{t.tokens.typedPassword}</dd>
            </div>
          ) : (
            <Secret name={t.frame.password} text={password} />
          )}
          {!fitsBasicAuth(username) && (
            <div>
              <dt>{t.tokens.networkDrives}</dt>
              <dd>{basicAuthHint()}</dd>
            </div>
          )}
        </>
      )}
      {drive !== undefined && (
        <>
          <Secret name={t.tokens.driveAddress} text={client.bucket(drive).address("")} />
          <Secret name={t.tokens.driveUser} text={key} />
          <Secret name={t.tokens.drivePassword} text={secret} />
        </>
      )}
      {deploy !== undefined && (
        <Secret
          name={t.tokens.pushCommand}
          text={`NODE_SERVER_URL=${shellQuote(serverUrl)} node-server push ./dist ${shellQuote(deploy)}`}
        />
      )}
    </dl>
  );
}

/** Dialog that shows what the session's own token signs requests of S3 with. */
export function S3KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const { me } = useSession();
  return (
    <Dialog title={t.tokens.s3KeysOf(displayName(me))} onClose={onClose}>
      <S3Keys />
    </Dialog>
  );
}

/** The keys of S3 of the token with this key and secret, or of the session's own. */
function S3Keys({ token }: { readonly token?: string }) {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => client.call("token_s3_credentials", token === undefined ? {} : { token }, { signal }),
    [client, token],
  );
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (value === undefined) return <p class="muted">{t.frame.loading}</p>;
  const address = s3Address(value, serverUrl);
  return (
    <>
      <p>{t.tokens.s3Intro}</p>
      <dl class="tokens-secrets">
        <Secret name={t.tokens.accessKey} text={value.access_key_id} />
        <Secret name={t.tokens.secretKey} text={value.secret_access_key} />
        {address !== undefined && <Secret name={t.tokens.s3Address} text={address} />}
      </dl>
      {address === undefined && <p class="notice">{t.tokens.s3Off}</p>}
    </>
  );
}

interface SecretProps {
  readonly name: string;
  readonly text: string;
  readonly initialFocus?: boolean;
}

function Secret({ name, text, initialFocus = false }: SecretProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="tokens-secret">
        <code>{text}</code>
        <CopyButton text={text} label={t.frame.copy} initialFocus={initialFocus} />
      </dd>
    </div>
  );
}

/** Dialog that changes the password of a token with a user name. */
export function PasswordDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const session = useSession();
  const [password, setPassword] = useState("");
  const isOwn = token.token_key === session.me.token_key;
  return (
    <FormDialog
      title={t.tokens.changePasswordOf(displayName(token))}
      action={t.tokens.changePassword}
      disabled={password === "" || passwordProblem(password) !== undefined}
      onSubmit={() => changePassword(session, token, password).then(onClose)}
      onClose={onClose}
    >
      <p>
        {t.tokens.oldPasswordStops}
        {isOwn && ` ${t.tokens.ownPassword}`} {t.tokens.secretStays}
      </p>
      <PasswordField label={t.tokens.newPassword} password={password} onChange={setPassword} />
    </FormDialog>
  );
}

/** Asks the server whether a token may do something, and tells by which limit. */
export function ExplainDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  return (
    <Dialog title={t.tokens.explainTitle(displayName(token))} onClose={onClose} closesOnBackdrop>
      <ExplainForm token={token} />
    </Dialog>
  );
}

export function ExplainForm({ token }: { readonly token: Token }) {
  const { client, me } = useSession();
  const { names } = useBucketNames();
  const others = otherPermissions(token);
  const [permission, setPermission] = useState<Permission>({ static_bucket_file: "read" });
  const [kind, setKind] = useState<ScopeKind>("static_bucket");
  const [name, setName] = useState("");
  const isComplete = kind === "global" || name !== "";
  const target = token.token_key === me.token_key ? null : token.token_key;
  const { value, error, reload } = useLoad(
    async (signal) => {
      if (!isComplete) return undefined;
      const asked = { permission, scope: toScope({ kind, name }), target_token: target };
      return { asked, verdict: await client.call("token_explain", asked, { signal }) };
    },
    [client, target, JSON.stringify(permission), kind, name],
  );
  const text = JSON.stringify(permission);
  return (
    <div class="form tokens-explain">
      <Field label={t.tokens.permission}>
        <select
          value={text}
          data-initial-focus
          onChange={(event: Event) => setPermission(JSON.parse(typed(event)) as Permission)}
        >
          {families.map(({ name: family, title, actions }) => (
            <optgroup key={family} label={title}>
              {actions.map((action) => (
                <option key={action.label} value={JSON.stringify(action.permission)}>
                  {t.tokens.familyActions(title, action.label)}
                </option>
              ))}
            </optgroup>
          ))}
          {others.length > 0 && (
            <optgroup label={t.tokens.otherPermissions}>
              {others.map((one) => (
                <option key={JSON.stringify(one)} value={JSON.stringify(one)}>
                  {otherText(one)}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </Field>
      <div class="tokens-pair">
        <Field label={t.tokens.scope}>
          <select value={kind} onChange={(event: Event) => setKind(typed(event) as ScopeKind)}>
            {scopeKinds.map((one) => (
              <option key={one} value={one}>
                {t.tokens.scopes[one].title}
              </option>
            ))}
          </select>
        </Field>
        {kind !== "global" && (
          <TextField
            label={t.tokens.scopes[kind].name}
            hint={takesPattern(kind) ? t.tokens.pattern : undefined}
            suggestions={kind === "static_bucket" ? names : undefined}
            value={name}
            onChange={setName}
          />
        )}
      </div>
      <div class="tokens-verdict" role="status" aria-label={t.tokens.answer}>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {error === undefined && (value === undefined || !isComplete) && (
          <p class="muted">{isComplete ? t.frame.loading : t.tokens.nameScope}</p>
        )}
        {error === undefined && value !== undefined && isComplete && (
          <Verdict verdict={value.verdict} limits={token.token_limit as Limit[]} />
        )}
      </div>
    </div>
  );
}

/** Permissions of the token that have no checkbox, so that they can be asked about too. */
function otherPermissions({ token_limit }: Token): Permission[] {
  const granted = (Array.isArray(token_limit) ? (token_limit as Limit[]) : []).flatMap(
    ({ permissions }) => permissions ?? [],
  );
  return granted.filter(
    (one, at) => !isKnown(one) && granted.findIndex((other) => isSame(one, other)) === at,
  );
}

interface VerdictProps {
  readonly verdict: ResultOf<"token_explain">;
  readonly limits: readonly Limit[];
}

/** The server's answer in words. */
function Verdict({ verdict: { allowed, reason, limit, elsewhere }, limits }: VerdictProps) {
  const lines = [...(limit === null ? [] : [limit]), ...elsewhere];
  return (
    <>
      <p class={allowed ? "tokens-yes" : "tokens-no"}>
        <Icon name={allowed ? "check" : "close"} />
        <span>
          <strong>{allowed ? t.tokens.yes : t.tokens.no}</strong>{" "}
          {sentences(
            t.tokens.reasons[reason],
            reason === "not_granted" && elsewhere.length > 0 && t.tokens.elsewhere,
          )}
        </span>
      </p>
      {lines.length > 0 && (
        <ul class="tokens-summary">
          {lines.map((at) => {
            const shown = limits[at];
            return (
              <li key={at}>
                <strong>{t.tokens.limit(at + 1)}</strong>{" "}
                {shown === undefined ? t.tokens.changedMeanwhile : limitText(shown)}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

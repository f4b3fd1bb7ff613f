import { useState } from "preact/hooks";
import { PermissionDenied, type SessionRecord } from "../../../client/index.ts";
import { ago, time } from "../../format.ts";
import { signInAgain, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { act, useCall, useNow, WhenLoaded } from "../../ui/call.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, FieldError, FormDialog, typed } from "../../ui/form.tsx";
import { toast } from "../../ui/toasts.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { passwordProblem } from "./draft.ts";
import { PasswordField } from "./fields.tsx";

/** What a person with a user name and a password does about the own sign-in: the password, and the sessions. */
export function Account() {
  const { client, me } = useSession();
  const list = useCall("session_list", {});
  const now = useNow();
  const totp = useCall("session_totp", {});
  const [dialog, setDialog] = useState<"password" | "codes">();
  if (me.username === null) return null;
  const close = () => setDialog(undefined);
  const end = (ask: string, action: string, id?: string) =>
    act({
      ask: { title: ask, text: t.tokens.account.endText, action, danger: true },
      run: () => client.call("session_end", { id }),
      done: (count) => t.tokens.account.ended(count),
      after: list.reload,
    });
  return (
    <section class="card form account" aria-label={t.tokens.account.title}>
      <h2>{t.tokens.account.title}</h2>
      <WhenLoaded of={list} rows={2}>
        {(sessions) => (
          <>
            {sessions.length === 0 && <p class="muted">{t.tokens.account.none}</p>}
            <ul class="account-sessions">
              {sessions.map((one) => (
                <li key={one.id}>
                  <SessionLine session={one} now={now} />
                  {!one.current && (
                    <IconButton
                      icon="out"
                      label={t.tokens.account.endLabel(deviceOf(one))}
                      onClick={() =>
                        end(t.tokens.account.endQuestion(deviceOf(one)), t.frame.signOut, one.id)
                      }
                    />
                  )}
                </li>
              ))}
            </ul>
            <div class="row">
              <Button icon="lock" onClick={() => setDialog("password")}>
                {t.tokens.changePassword}
              </Button>
              {totp.value !== undefined && (
                <Button icon="lock" onClick={() => setDialog("codes")}>
                  {totp.value.on ? t.tokens.codes.turnOff : t.tokens.codes.turnOn}
                </Button>
              )}
              {sessions.some(({ current }) => !current) && (
                <Button
                  icon="out"
                  onClick={() => end(t.tokens.account.elsewhereQuestion, t.tokens.account.elsewhere)}
                >
                  {t.tokens.account.elsewhere}
                </Button>
              )}
            </div>
          </>
        )}
      </WhenLoaded>
      {totp.value?.on && <p class="muted">{t.tokens.codes.isOn(totp.value.recovery_codes)}</p>}
      {dialog === "password" && (
        <OwnPasswordDialog asksCode={totp.value?.on === true} onClose={close} onDone={list.reload} />
      )}
      {dialog === "codes" &&
        (totp.value?.on ? (
          <CodesOffDialog onClose={close} onDone={totp.reload} />
        ) : (
          <CodesOnDialog
            onClose={() => {
              close();
              totp.reload();
              list.reload();
            }}
          />
        ))}
    </section>
  );
}

function deviceOf({ device }: SessionRecord): string {
  return device === null ? t.tokens.account.unknownDevice : visibleText(device);
}

function SessionLine({ session, now }: { readonly session: SessionRecord; readonly now: number }) {
  const { address, created_at, last_used_at, current } = session;
  return (
    <div>
      <strong>{deviceOf(session)}</strong>{" "}
      {current && <span class="badge good">{t.tokens.account.current}</span>}
      <br />
      <small class="muted" title={t.tokens.account.since(time(created_at))}>
        {address} · {ago(last_used_at, now)}
      </small>
    </div>
  );
}

interface OwnPasswordProps {
  /** Whether the person signs in with codes of an app, too. */
  readonly asksCode: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Dialog that changes the own password. The session goes on with new credentials; all others end. */
function OwnPasswordDialog({ asksCode, onClose, onDone }: OwnPasswordProps) {
  const session = useSession();
  const [old, setOld] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const change = async () => {
    const params = { old_password: old, new_password: password, ...(asksCode ? { code } : {}) };
    const result = await session.client
      .call("session_change_password", params)
      .catch(asRefused("old_password"));
    if (result.session !== undefined) await signInAgain(session, result.session);
    toast(t.tokens.account.passwordChanged);
    onClose();
    onDone();
  };
  return (
    <FormDialog
      title={t.tokens.changePassword}
      action={t.tokens.changePassword}
      disabled={
        old === "" || password === "" || (asksCode && code === "") || passwordProblem(password) !== undefined
      }
      onSubmit={change}
      onClose={onClose}
    >
      <p>{t.tokens.account.passwordText}</p>
      <PresentPassword field="old_password" value={old} onChange={setOld} />
      <PasswordField label={t.tokens.newPassword} password={password} onChange={setPassword} />
      {asksCode && <Code value={code} onChange={setCode} />}
    </FormDialog>
  );
}

interface InputProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function PresentPassword({ field, value, onChange }: InputProps & { readonly field: string }) {
  return (
    <Field label={t.tokens.account.oldPassword} field={field}>
      <input
        type="password"
        autocomplete="current-password"
        required
        data-initial-focus
        value={value}
        onInput={(event: Event) => onChange(typed(event))}
      />
    </Field>
  );
}

function Code({ value, onChange }: InputProps) {
  return (
    <Field label={t.frame.code} hint={t.frame.codeHint} field="code">
      <input
        type="text"
        autocomplete="one-time-code"
        required
        value={value}
        onInput={(event: Event) => onChange(typed(event))}
      />
    </Field>
  );
}

/** Shows a refusal at the field that it is about: a code, or the password. */
function asRefused(passwordField: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof PermissionDenied)) throw error;
    if (error.reason === "invalid_credentials")
      throw new FieldError(passwordField, t.tokens.account.wrongPassword);
    if (error.reason === "wrong_code") throw new FieldError("code", t.frame.wrongCode);
    if (error.reason === "too_many_codes")
      throw new FieldError("code", t.frame.tooManyCodes(time(Number(error.data.retry_at))));
    throw error;
  };
}

/** Dialog that turns codes on: password, then the secret and a first code, then the recovery codes. */
function CodesOnDialog({ onClose }: { readonly onClose: () => void }) {
  const { client } = useSession();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [made, setMade] = useState<{ readonly secret: string; readonly uri: string }>();
  const [recovery, setRecovery] = useState<readonly string[]>();
  if (recovery !== undefined)
    return (
      <Dialog title={t.tokens.codes.recoveryTitle} onClose={undefined}>
        <p>{t.tokens.codes.recoveryText}</p>
        <pre class="account-codes">{recovery.map(grouped).join("\n")}</pre>
        <footer>
          <CopyButton text={recovery.join("\n")} label={t.frame.copy} initialFocus />
          <Button kind="primary" onClick={onClose}>
            {t.tokens.codes.haveSaved}
          </Button>
        </footer>
      </Dialog>
    );
  if (made === undefined)
    return (
      <FormDialog
        title={t.tokens.codes.turnOn}
        action={t.tokens.codes.next}
        disabled={password === ""}
        onSubmit={async () =>
          setMade(await client.call("session_totp_begin", { password }).catch(asRefused("password")))
        }
        onClose={onClose}
      >
        <p>{t.tokens.codes.intro}</p>
        <PresentPassword field="password" value={password} onChange={setPassword} />
      </FormDialog>
    );
  return (
    <FormDialog
      key="code"
      title={t.tokens.codes.turnOn}
      action={t.tokens.codes.turnOn}
      disabled={code === ""}
      onSubmit={async () => setRecovery((await client.call("session_totp_confirm", { code })).recovery_codes)}
      onClose={onClose}
    >
      <p>{t.tokens.codes.enter}</p>
      <p class="tokens-secret">
        <code>{grouped(made.secret)}</code>
        <CopyButton text={made.secret} label={t.frame.copy} />
      </p>
      <p>
        <a href={made.uri}>{t.tokens.codes.openApp}</a>
      </p>
      <Code value={code} onChange={setCode} />
    </FormDialog>
  );
}

/** A text in groups of four, which are easier to type. */
function grouped(text: string): string {
  return (text.match(/.{1,4}/g) ?? []).join(" ");
}

/** Dialog that turns codes off. */
function CodesOffDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const { client } = useSession();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const remove = async () => {
    await client.call("session_totp_remove", { password, code }).catch(asRefused("password"));
    toast(t.tokens.codes.turnedOff);
    onClose();
    onDone();
  };
  return (
    <FormDialog
      title={t.tokens.codes.turnOff}
      action={t.tokens.codes.turnOff}
      danger
      disabled={password === "" || code === ""}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>{t.tokens.codes.offText}</p>
      <PresentPassword field="password" value={password} onChange={setPassword} />
      <Code value={code} onChange={setCode} />
    </FormDialog>
  );
}

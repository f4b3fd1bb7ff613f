import { useEffect, useRef, useState } from "preact/hooks";
import type { Limit, Permission, Scope, Token } from "../../../client/index.ts";
import { useSession } from "../../session/session.ts";
import { useUnsaved } from "../../session/unsaved-work.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Check, Field, Form, FormProblem, Segments, Submit, TextField, typed } from "../../ui/form.tsx";
import { rich } from "../../ui/rich.tsx";
import { toast } from "../../ui/toasts.tsx";
import { newSecret } from "./actions.tsx";
import {
  draftProblem,
  lacksBucket,
  nameProblem,
  newDraft,
  type PurposeName,
  type TokenDraft,
  toCreation,
  usernameHint,
  usernameProblem,
  validityProblem,
  withPurpose,
} from "./draft.ts";
import { NameField, PasswordField, PurposePicker, useBucketNames } from "./fields.tsx";
import {
  draftSummary,
  families,
  grantsNothing,
  isKnown,
  isPermission,
  isSame,
  limitsProblem,
  readLimits,
  type ScopeKind,
  scopeKinds,
  scopeView,
  takesPattern,
  toScope,
} from "./limits.ts";

interface CreateFormProps {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly onDone: () => void;
  /** Undefined when there is no page to return to. */
  readonly onCancel?: (() => void) | undefined;
}

/** Form that creates a token and shows its secret. */
export function CreateForm({ purpose, bucket, onDone, onCancel }: CreateFormProps) {
  const { client, me, rights } = useSession();
  const buckets = useBucketNames();
  const [initial] = useState(() => newDraft(purpose, bucket, rights.isSuper ? undefined : me));
  const [draft, setDraft] = useState(initial);
  const [unreadable, setUnreadable] = useState(false);
  const change = (part: Partial<TokenDraft>) => setDraft((before) => ({ ...before, ...part }));
  const problem = unreadable ? t.tokens.correctJson : draftProblem(draft);
  const isChanged = unreadable || JSON.stringify(draft) !== JSON.stringify(initial);
  const created = useUnsaved(isChanged, t.tokens.notCreated);
  const create = async () => {
    const pair = await client.call("token_create", { token_creation: toCreation(draft) });
    newSecret.value = {
      ...pair,
      title: t.tokens.theNewToken,
      by: me.token_key,
      drive: draft.purpose === "webdav" ? draft.bucket.trim() : undefined,
      deploy: draft.purpose === "deploy" ? draft.bucket.trim() : undefined,
      username: draft.username || undefined,
      hasPassword: draft.password !== "",
      password: draft.isGenerated ? draft.password : undefined,
    };
    created();
    setDraft(initial);
    onDone();
  };
  const isPerson = draft.purpose === "person";
  const signIn = (
    <div class="tokens-pair">
      <TextField
        label={t.frame.userName}
        hint={usernameHint(draft.username, draft.password !== "")}
        error={usernameProblem(draft.username)}
        field="username"
        value={draft.username}
        onChange={(username) => change({ username })}
      />
      <div class="form">
        <PasswordField
          label={t.frame.password}
          password={draft.password}
          onChange={(password, { isGenerated }) => change({ password, isGenerated })}
        />
      </div>
    </div>
  );
  return (
    <Form label={t.tokens.newToken} onSubmit={create}>
      <PurposePicker
        purpose={draft.purpose}
        bucket={draft.bucket}
        buckets={buckets.names}
        complete={buckets.complete}
        onChange={(next, name) => setDraft((before) => withPurpose(before, next, name))}
      />
      <section class="card form" aria-label={t.tokens.rights}>
        <h2>{t.tokens.whatItMay}</h2>
        <ul class="tokens-summary" aria-live="polite">
          {(lacksBucket(draft) ? [t.tokens.chooseBucketFirst] : draftSummary(draft.limits)).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <details open={draft.purpose === "own"}>
          <summary>{t.tokens.scopesAndPermissions}</summary>
          <LimitsForm
            limits={draft.limits}
            buckets={buckets.names}
            onChange={(limits) => change({ limits, purpose: "own" })}
            onProblem={setUnreadable}
          />
        </details>
      </section>
      {isPerson && (
        <section class="card form" aria-label={t.tokens.signInLabel}>
          <h2>{t.tokens.signInLabel}</h2>
          {signIn}
        </section>
      )}
      <section class="card form" aria-label={t.tokens.optionalLabel}>
        <h2>{t.tokens.optional}</h2>
        <NameField name={draft.name} onChange={(name) => change({ name })} />
        {!isPerson && signIn}
        <div class="tokens-pair">
          <TextField
            type="datetime-local"
            label={t.tokens.validFrom}
            hint={t.tokens.atOnce}
            value={draft.from}
            onChange={(from) => change({ from })}
          />
          <TextField
            type="datetime-local"
            label={t.tokens.validTo}
            hint={!rights.isSuper && me.timestamp_to !== null ? t.tokens.notLonger : t.tokens.noExpiry}
            error={validityProblem(draft.from, draft.to)}
            field="timestamp_to"
            value={draft.to}
            onChange={(to) => change({ to })}
          />
        </div>
      </section>
      <FormProblem />
      <div class="row">
        <Submit disabled={problem !== undefined}>{t.tokens.createToken}</Submit>
        {onCancel !== undefined && <Button onClick={onCancel}>{t.frame.cancel}</Button>}
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </Form>
  );
}

interface EditFormProps {
  readonly token: Token;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** Form that changes the name and the limits of a token. Nothing else of a token can be changed here. */
export function EditForm({ token, onDone, onCancel }: EditFormProps) {
  const { client } = useSession();
  const { names } = useBucketNames();
  const stored = limitsProblem(token.token_limit as Limit[]) === undefined;
  const [initial] = useState<readonly Limit[]>(stored ? (token.token_limit as Limit[]) : []);
  const [limits, setLimits] = useState(initial);
  const [name, setName] = useState(token.name ?? "");
  const [unreadable, setUnreadable] = useState(false);
  const problem = unreadable ? t.tokens.correctJson : (limitsProblem(limits) ?? nameProblem(name));
  const isChanged =
    unreadable || name !== (token.name ?? "") || JSON.stringify(limits) !== JSON.stringify(initial);
  const saved = useUnsaved(isChanged, t.tokens.editUnsaved);
  const save = async () => {
    await client.call("token_edit", {
      target_token: token.token_key,
      limit: [...limits],
      name: name === "" ? null : name,
    });
    toast(t.tokens.limitsSaved);
    saved();
    onDone();
  };
  return (
    <Form label={t.tokens.editTheToken} onSubmit={save}>
      <p>{rich(t.tokens.editIntro, { name: <strong>{token.username ?? token.token_key}</strong> })}</p>
      {!stored && <p class="notice">{t.tokens.brokenLimits}</p>}
      <div class="card form">
        <NameField name={name} onChange={setName} />
      </div>
      <section class="card form" aria-label={t.tokens.rights}>
        <h2>{t.tokens.whatItMay}</h2>
        <ul class="tokens-summary" aria-live="polite">
          {draftSummary(limits).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <LimitsForm limits={limits} buckets={names} onChange={setLimits} onProblem={setUnreadable} />
      </section>
      <FormProblem />
      <div class="row">
        <Submit disabled={problem !== undefined}>{t.frame.save}</Submit>
        <Button onClick={onCancel}>{t.frame.cancel}</Button>
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </Form>
  );
}

interface LimitsFormProps {
  readonly limits: readonly Limit[];
  readonly onChange: (limits: readonly Limit[]) => void;
  /** Called with whether any JSON text in the form is invalid. */
  readonly onProblem: (isWrong: boolean) => void;
  readonly buckets: readonly string[];
}

/** Editor for the limits of a token, as checkboxes or as JSON. */
function LimitsForm({ limits, onChange, onProblem, buckets }: LimitsFormProps) {
  const [raw, setRaw] = useState(false);
  const wrong = useRef(new Set<string>());
  const report = (where: string) => (isWrong: boolean) => {
    if (isWrong) wrong.current.add(where);
    else wrong.current.delete(where);
    onProblem(wrong.current.size > 0);
  };
  const show = (asJson: boolean) => {
    wrong.current.clear();
    onProblem(false);
    setRaw(asJson);
  };
  return (
    <div class="form">
      <Segments
        class="tokens-views"
        label={t.tokens.showLimitsAs}
        options={[
          { value: "form", title: t.tokens.form },
          { value: "json", title: t.tokens.json },
        ]}
        value={raw ? "json" : "form"}
        onChange={(view) => show(view === "json")}
      />
      {raw ? (
        <JsonField
          label="token_limit"
          hint={t.tokens.limitsHint}
          rows={14}
          value={limits}
          read={readLimits}
          onChange={onChange}
          onProblem={report("all")}
        />
      ) : (
        <>
          {limits.map((limit, at) => (
            <LimitCard
              // A limit has no identity but its position.
              key={`${at} of ${limits.length}`}
              number={at + 1}
              limit={limit}
              buckets={buckets}
              onChange={(next) => onChange(limits.with(at, next))}
              onRemove={() => {
                report(`limit ${at}`)(false);
                onChange(limits.toSpliced(at, 1));
              }}
              onProblem={report(`limit ${at}`)}
            />
          ))}
          {limits.length === 0 && <p class="muted">{t.tokens.noLimits}</p>}
          <div class="row">
            <Button
              icon="plus"
              onClick={() => onChange([...limits, { scopes: ["global"], permissions: [] }])}
            >
              {t.tokens.addLimit}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

interface LimitCardProps {
  readonly number: number;
  readonly limit: Limit;
  readonly onChange: (limit: Limit) => void;
  readonly onRemove: () => void;
  readonly onProblem: (isWrong: boolean) => void;
  readonly buckets: readonly string[];
}

/** One limit of a token: scopes and permissions. */
function LimitCard({ number, limit, onChange, onRemove, onProblem, buckets }: LimitCardProps) {
  const { scopes, permissions } = limit;
  const others = permissions.filter((one) => !isKnown(one));
  const known = permissions.filter(isKnown);
  const toggle = (permission: Permission, on: boolean) =>
    onChange({
      ...limit,
      permissions: on ? [...permissions, permission] : permissions.filter((one) => !isSame(one, permission)),
    });
  return (
    <fieldset class="tokens-limit">
      <legend>{t.tokens.limit(number)}</legend>
      {scopes.map((scope, at) => (
        <ScopeRow
          // A scope has no identity but its position.
          key={`${at} of ${scopes.length}`}
          scope={scope}
          buckets={buckets}
          onChange={(next) => onChange({ ...limit, scopes: scopes.with(at, next) })}
          onRemove={() => onChange({ ...limit, scopes: scopes.toSpliced(at, 1) })}
        />
      ))}
      <div class="row">
        <Button
          icon="plus"
          onClick={() => onChange({ ...limit, scopes: [...scopes, { static_bucket: "" }] })}
        >
          {t.tokens.addScope}
        </Button>
      </div>
      <div class="tokens-families">
        {families.map(({ name, title, actions }) => (
          <fieldset key={name}>
            <legend>{title}</legend>
            {actions.map(({ permission, label }) => (
              <Check
                key={label}
                label={label}
                checked={permissions.some((one) => isSame(one, permission))}
                onChange={(on) => toggle(permission, on)}
              />
            ))}
          </fieldset>
        ))}
      </div>
      <details open={others.length > 0}>
        <summary>{t.tokens.otherPermissions}</summary>
        <JsonField
          label={t.tokens.asJsonList}
          hint={t.tokens.otherHint}
          value={others}
          read={readOthers}
          onChange={(next) => onChange({ ...limit, permissions: [...known, ...next] })}
          onProblem={onProblem}
        />
      </details>
      {grantsNothing(limit) && (
        <p class="hint">
          {t.tokens.grantsNothing(scopes.length === 0 ? t.tokens.noScope : t.tokens.noPermission)}
        </p>
      )}
      <div class="row">
        <Button icon="trash" kind="quiet" onClick={onRemove}>
          {t.tokens.removeLimit(number)}
        </Button>
      </div>
    </fieldset>
  );
}

function readOthers(json: unknown): Permission[] {
  if (!Array.isArray(json)) throw new Error(t.tokens.mustBeList);
  const wrong = json.find((one) => !isPermission(one));
  if (wrong !== undefined) throw new Error(t.tokens.notPermission(JSON.stringify(wrong)));
  const boxed = json.find(isKnown);
  if (boxed !== undefined) throw new Error(t.tokens.hasCheckbox(JSON.stringify(boxed)));
  return json as Permission[];
}

interface ScopeRowProps {
  readonly scope: Scope;
  readonly onChange: (scope: Scope) => void;
  readonly onRemove: () => void;
  readonly buckets: readonly string[];
}

/** One scope in which the permissions of a limit apply. */
function ScopeRow({ scope, onChange, onRemove, buckets }: ScopeRowProps) {
  const { kind, name } = scopeView(scope) ?? { kind: "global" as const, name: "" };
  const phrases = t.tokens.scopes[kind];
  return (
    <div class="tokens-scope">
      <Field label={t.tokens.scope}>
        <select
          value={kind}
          onChange={(event: Event) => onChange(toScope({ kind: typed(event) as ScopeKind, name }))}
        >
          {scopeKinds.map((value) => (
            <option key={value} value={value}>
              {t.tokens.scopes[value].title}
            </option>
          ))}
        </select>
      </Field>
      {kind !== "global" && (
        <TextField
          label={phrases.name}
          hint={takesPattern(kind) ? t.tokens.pattern : undefined}
          suggestions={kind === "static_bucket" ? buckets : undefined}
          value={name}
          onChange={(next) => onChange(toScope({ kind, name: next }))}
        />
      )}
      <IconButton icon="close" label={t.tokens.removeScope} onClick={onRemove} />
    </div>
  );
}

interface JsonFieldProps<T> {
  readonly label: string;
  readonly hint?: string;
  readonly value: T;
  /** Converts parsed JSON to a value. Throws an error with a sentence when it is invalid. */
  readonly read: (json: unknown) => T;
  readonly onChange: (value: T) => void;
  /** Called with whether the typed text is invalid. */
  readonly onProblem: (isWrong: boolean) => void;
  readonly rows?: number;
}

/** Text field for a value as JSON. Valid input changes the value; a changed value replaces the text. */
function JsonField<T>({ label, hint, value, read, onChange, onProblem, rows = 4 }: JsonFieldProps<T>) {
  const current = JSON.stringify(value);
  const [draft, setDraft] = useState({
    text: pretty(value),
    of: current,
    problem: undefined as string | undefined,
  });
  const changedElsewhere = draft.of !== current;
  const shown = changedElsewhere ? { text: pretty(value), problem: undefined } : draft;
  useEffect(() => {
    if (!changedElsewhere) return;
    setDraft({ text: pretty(value), of: current, problem: undefined });
    onProblem(false);
  }, [current]);
  const take = (text: string) => {
    try {
      const next = read(parse(text));
      setDraft({ text, of: JSON.stringify(next), problem: undefined });
      onProblem(false);
      onChange(next);
    } catch (error) {
      setDraft({ text, of: current, problem: error instanceof Error ? error.message : String(error) });
      onProblem(true);
    }
  };
  return (
    <Field label={label} hint={hint} error={shown.problem}>
      <textarea
        rows={rows}
        spellcheck={false}
        value={shown.text}
        onInput={(event: Event) => take(typed(event))}
      />
    </Field>
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t.tokens.badJson(error instanceof Error ? error.message : String(error)));
  }
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

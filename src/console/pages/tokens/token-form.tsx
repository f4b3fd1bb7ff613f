import { useState } from "preact/hooks";
import type { Limit, Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Form, FormProblem, Submit, TextField } from "../../ui/form.tsx";
import { rich } from "../../ui/rich.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useUnsaved } from "../../unsaved-work.ts";
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
import { draftSummary, limitsProblem } from "./limits.ts";
import { LimitsForm } from "./limits-form.tsx";

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
      <section class="card form" aria-label={t.tokens.optionalLabel}>
        <h2>{t.tokens.optional}</h2>
        <NameField name={draft.name} onChange={(name) => change({ name })} />
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

import { useState } from "preact/hooks";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { useUnsaved } from "../../unsaved-work.ts";
import { useBucketNames } from "./bucket-names.ts";
import { usernameHint, usernameProblem } from "./credential-rules.ts";
import { draftSummary } from "./limits.ts";
import { LimitsForm } from "./limits-form.tsx";
import { NameField } from "./name-field.tsx";
import { newSecret } from "./new-secret.tsx";
import { PasswordField } from "./password-form.tsx";
import { PurposePicker } from "./purpose-picker.tsx";
import {
  draftProblem,
  lacksBucket,
  newDraft,
  type PurposeName,
  type TokenDraft,
  toCreation,
  validityProblem,
  withPurpose,
} from "./token-draft.ts";

export interface CreateFormProps {
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
  const [failure, setFailure] = useState<unknown>();
  const change = (part: Partial<TokenDraft>) => setDraft((before) => ({ ...before, ...part }));
  const problem = unreadable ? t.tokens.correctJson : draftProblem(draft);
  const isChanged = unreadable || JSON.stringify(draft) !== JSON.stringify(initial);
  const created = useUnsaved(isChanged, t.tokens.notCreated);
  const create = async () => {
    setFailure(undefined);
    try {
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
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <section class="form" aria-label={t.tokens.newToken}>
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
          <Field
            label={t.frame.userName}
            hint={usernameHint(draft.username, draft.password !== "")}
            error={usernameProblem(draft.username)}
          >
            <input
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={draft.username}
              onInput={(event: Event) => change({ username: typed(event) })}
            />
          </Field>
          <div class="form">
            <PasswordField
              label={t.frame.password}
              password={draft.password}
              onChange={(password, { isGenerated }) => change({ password, isGenerated })}
            />
          </div>
        </div>
        <div class="tokens-pair">
          <Field label={t.tokens.validFrom} hint={t.tokens.atOnce}>
            <input
              type="datetime-local"
              value={draft.from}
              onInput={(event: Event) => change({ from: typed(event) })}
            />
          </Field>
          <Field
            label={t.tokens.validTo}
            hint={endHint(!rights.isSuper && me.timestamp_to !== null)}
            error={validityProblem(draft.from, draft.to)}
          >
            <input
              type="datetime-local"
              value={draft.to}
              onInput={(event: Event) => change({ to: typed(event) })}
            />
          </Field>
        </div>
      </section>
      {failure !== undefined && <Problem error={failure} />}
      <div class="row">
        <Button kind="primary" disabled={problem !== undefined} onClick={create}>
          {t.tokens.createToken}
        </Button>
        {onCancel !== undefined && <Button onClick={onCancel}>{t.frame.cancel}</Button>}
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </section>
  );
}

function endHint(mustEnd: boolean): string {
  return mustEnd ? t.tokens.notLonger : t.tokens.noExpiry;
}

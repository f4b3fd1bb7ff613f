import { useState } from "preact/hooks";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { useUnsaved } from "../../unsaved-work.ts";
import { useBuckets } from "./buckets.ts";
import { draftWords } from "./limits.ts";
import { LimitsForm } from "./limits-form.tsx";
import { made } from "./made.ts";
import { PasswordField } from "./password-field.tsx";
import { PurposePicker } from "./purpose-picker.tsx";
import type { PurposeName } from "./purposes.ts";
import { usernameHint, usernameProblem } from "./sign-in-words.ts";
import {
  isWithoutBucket,
  newWish,
  timesProblem,
  toCreation,
  type Wish,
  wishProblem,
  withPurpose,
} from "./wish.ts";

export interface CreateFormProps {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly onDone: () => void;
  /** Undefined where there is nothing to go back to. */
  readonly onCancel?: (() => void) | undefined;
}

/** A new token, from its purpose to its secret. */
export function CreateForm({ purpose, bucket, onDone, onCancel }: CreateFormProps) {
  const { client, me, rights } = useSession();
  const buckets = useBuckets();
  const [initial] = useState(() => newWish(purpose, bucket, rights.isSuper ? undefined : me));
  const [wish, setWish] = useState(initial);
  const [unreadable, setUnreadable] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const change = (part: Partial<Wish>) => setWish((before) => ({ ...before, ...part }));
  const problem = unreadable ? "Put the JSON right first." : wishProblem(wish);
  const isChanged = unreadable || JSON.stringify(wish) !== JSON.stringify(initial);
  const created = useUnsaved(isChanged, "the new token is not created");
  const create = async () => {
    setFailure(undefined);
    try {
      const pair = await client.call("token_create", { token_creation: toCreation(wish) });
      made.value = {
        ...pair,
        title: "The new token",
        by: me.token_key,
        drive: wish.purpose === "webdav" ? wish.bucket.trim() : undefined,
        deploy: wish.purpose === "deploy" ? wish.bucket.trim() : undefined,
        username: wish.username || undefined,
        hasPassword: wish.password !== "",
        password: wish.isGenerated ? wish.password : undefined,
      };
      created();
      setWish(initial);
      onDone();
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <section class="form" aria-label="New token">
      <PurposePicker
        purpose={wish.purpose}
        bucket={wish.bucket}
        buckets={buckets.names}
        complete={buckets.complete}
        onChange={(next, name) => setWish((before) => withPurpose(before, next, name))}
      />
      <section class="card form" aria-label="Rights">
        <h2>What it may do</h2>
        <ul class="tokens-words" aria-live="polite">
          {(isWithoutBucket(wish) ? ["Choose a bucket first."] : draftWords(wish.limits)).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <details open={wish.purpose === "own"}>
          <summary>Scopes and permissions</summary>
          <LimitsForm
            limits={wish.limits}
            buckets={buckets.names}
            onChange={(limits) => change({ limits, purpose: "own" })}
            onProblem={setUnreadable}
          />
        </details>
      </section>
      <section class="card form" aria-label="User name and time">
        <h2>Optional</h2>
        <div class="tokens-pair">
          <Field
            label="User name"
            hint={usernameHint(wish.username, wish.password !== "")}
            error={usernameProblem(wish.username)}
          >
            <input
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={wish.username}
              onInput={(event: Event) => change({ username: typed(event) })}
            />
          </Field>
          <div class="form">
            <PasswordField
              label="Password"
              password={wish.password}
              onChange={(password, isGenerated) => change({ password, isGenerated })}
            />
          </div>
        </div>
        <div class="tokens-pair">
          <Field label="Valid from" hint="Empty: at once.">
            <input
              type="datetime-local"
              value={wish.from}
              onInput={(event: Event) => change({ from: typed(event) })}
            />
          </Field>
          <Field
            label="Valid to"
            hint={endHint(!rights.isSuper && me.timestamp_to !== null)}
            error={timesProblem(wish.from, wish.to)}
          >
            <input
              type="datetime-local"
              value={wish.to}
              onInput={(event: Event) => change({ to: typed(event) })}
            />
          </Field>
        </div>
      </section>
      {failure !== undefined && <Problem error={failure} />}
      <div class="row">
        <Button kind="primary" disabled={problem !== undefined} onClick={create}>
          Create the token
        </Button>
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </section>
  );
}

function endHint(mustEnd: boolean): string {
  return mustEnd ? "It cannot outlive your own token." : "Empty: it does not expire.";
}

import { useState } from "preact/hooks";
import type { Limit, Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useUnsaved } from "../../unsaved-work.ts";
import { useBucketNames } from "./bucket-names.ts";
import { nameProblem } from "./credential-rules.ts";
import { draftSummary, limitsProblem } from "./limits.ts";
import { LimitsForm } from "./limits-form.tsx";
import { NameField } from "./name-field.tsx";

export interface EditFormProps {
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
  const [failure, setFailure] = useState<unknown>();
  const problem = unreadable ? t.tokens.correctJson : (limitsProblem(limits) ?? nameProblem(name));
  const isChanged =
    unreadable || name !== (token.name ?? "") || JSON.stringify(limits) !== JSON.stringify(initial);
  const saved = useUnsaved(isChanged, t.tokens.editUnsaved);
  const save = async () => {
    setFailure(undefined);
    try {
      await client.call("token_edit", {
        target_token: token.token_key,
        limit: [...limits],
        name: name === "" ? null : name,
      });
      toast(t.tokens.limitsSaved);
      saved();
      onDone();
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <section class="form" aria-label={t.tokens.editTheToken}>
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
      {failure !== undefined && <Problem error={failure} />}
      <div class="row">
        <Button kind="primary" disabled={problem !== undefined} onClick={save}>
          {t.frame.save}
        </Button>
        <Button onClick={onCancel}>{t.frame.cancel}</Button>
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </section>
  );
}

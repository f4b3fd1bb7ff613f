import { useState } from "preact/hooks";
import type { Limit, Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
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
  const problem = unreadable ? "Correct the JSON first." : (limitsProblem(limits) ?? nameProblem(name));
  const isChanged =
    unreadable || name !== (token.name ?? "") || JSON.stringify(limits) !== JSON.stringify(initial);
  const saved = useUnsaved(isChanged, "the changes of the token are not saved");
  const save = async () => {
    setFailure(undefined);
    try {
      await client.call("token_edit", {
        target_token: token.token_key,
        limit: [...limits],
        name: name === "" ? null : name,
      });
      toast("Saved. The limits apply from the next call on.");
      saved();
      onDone();
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <section class="form" aria-label="Edit the token">
      <p>
        Name and limits of <strong>{token.username ?? token.token_key}</strong>. Its user name, key and
        validity cannot be changed; create a new token instead.
      </p>
      {!stored && (
        <p class="notice">
          The limits in the database are invalid, so they grant nothing. Saving here replaces them.
        </p>
      )}
      <div class="card form">
        <NameField name={name} onChange={setName} />
      </div>
      <section class="card form" aria-label="Rights">
        <h2>What it may do</h2>
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
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
        <span class="muted" role="status">
          {problem}
        </span>
      </div>
    </section>
  );
}

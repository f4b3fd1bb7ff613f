import { useId, useRef, useState } from "preact/hooks";
import type { Limit } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { JsonField } from "./json-field.tsx";
import { LimitCard } from "./limit-card.tsx";
import { readLimits } from "./limits.ts";

export interface LimitsFormProps {
  readonly limits: readonly Limit[];
  readonly onChange: (limits: readonly Limit[]) => void;
  /** Called with whether any JSON text in the form is invalid. */
  readonly onProblem: (isWrong: boolean) => void;
  readonly buckets: readonly string[];
}

/** Editor for the limits of a token, as checkboxes or as JSON. */
export function LimitsForm({ limits, onChange, onProblem, buckets }: LimitsFormProps) {
  const [raw, setRaw] = useState(false);
  const bucketList = useId();
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
      <fieldset class="segments tokens-views">
        <legend class="unseen">{t.tokens.showLimitsAs}</legend>
        <button type="button" aria-pressed={!raw} onClick={() => show(false)}>
          {t.tokens.form}
        </button>
        <button type="button" aria-pressed={raw} onClick={() => show(true)}>
          {t.tokens.json}
        </button>
      </fieldset>
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
          <datalist id={bucketList}>
            {buckets.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {limits.map((limit, at) => (
            <LimitCard
              // A limit has no identity but its position.
              key={`${at} of ${limits.length}`}
              number={at + 1}
              limit={limit}
              bucketList={bucketList}
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

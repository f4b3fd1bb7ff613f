import { useId } from "preact/hooks";
import { t } from "../../text/text.ts";
import { Field, typed } from "../../ui/field.tsx";
import { type PurposeName, purposes } from "./token-draft.ts";

export interface PurposePickerProps {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly onChange: (purpose: PurposeName, bucket: string) => void;
  readonly buckets: readonly string[];
  /** Whether `buckets` lists all buckets. */
  readonly complete: boolean;
}

/** Choice of a purpose, and of a bucket if it needs one. */
export function PurposePicker({ purpose, bucket, onChange, buckets, complete }: PurposePickerProps) {
  const list = useId();
  const chosen = purposes[purpose];
  const isUnknown = complete && bucket !== "" && !bucket.endsWith("*") && !buckets.includes(bucket);
  return (
    <section class="card form" aria-label={t.tokens.purpose}>
      <h2>{t.tokens.whatFor}</h2>
      <fieldset class="tokens-purposes">
        <legend class="unseen">{t.tokens.purpose}</legend>
        {Object.entries(purposes).map(([name, { title }]) => (
          <button
            key={name}
            type="button"
            class="button"
            aria-pressed={name === purpose}
            onClick={() => onChange(name as PurposeName, bucket)}
          >
            <span>{title}</span>
          </button>
        ))}
      </fieldset>
      <p class="muted">{chosen.text}</p>
      {chosen.needsBucket && (
        <>
          <datalist id={list}>
            {buckets.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <Field label={t.tokens.bucket} hint={isUnknown ? t.tokens.bucketMissing : undefined}>
            <input
              type="text"
              list={list}
              spellcheck={false}
              autocapitalize="off"
              required
              value={bucket}
              onInput={(event: Event) => onChange(purpose, typed(event))}
            />
          </Field>
        </>
      )}
    </section>
  );
}

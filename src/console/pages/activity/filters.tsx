import { t } from "../../text/text.ts";
import { Field } from "../../ui/form.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
import type { Actor } from "./actors.ts";
import { auditKinds } from "./audit-events.ts";
import { type AuditFilter, type AuditRow, bucketOf } from "./audit-rows.ts";

interface FiltersProps {
  readonly filter: AuditFilter;
  readonly rows: readonly AuditRow[];
  readonly actors: readonly Actor[];
  readonly onChange: (filter: AuditFilter) => void;
}

/** Choice of kind, token and bucket, and a search for text. The choices are in the address, so that they can be linked. */
export function Filters({ filter, rows, actors, onChange }: FiltersProps) {
  const buckets = [...new Set(rows.map(bucketOf).filter((name) => name !== undefined))].sort();
  const change = (part: Partial<AuditFilter>) => onChange({ ...filter, ...part });
  return (
    <div class="activity-filters">
      <Field label={t.activity.search}>
        <input
          type="search"
          value={filter.text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
      </Field>
      <Choice
        label={t.activity.kind}
        all={t.activity.allKinds}
        value={filter.kind}
        options={auditKinds.map((kind) => [kind, t.activity.kinds[kind]])}
        onChange={(kind) => change({ kind })}
      />
      <Choice
        label={t.activity.who}
        all={t.activity.anybody}
        value={filter.actor}
        options={actors.map(({ id, label, isSuper }) => [id, isSuper ? t.activity.superToken : label])}
        onChange={(actor) => change({ actor })}
      />
      <Choice
        label={t.activity.bucket}
        all={t.activity.allBuckets}
        value={filter.bucket}
        options={buckets.map((name) => [name, name])}
        onChange={(bucket) => change({ bucket })}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly all: string;
  readonly value: string;
  readonly options: ReadonlyArray<readonly [value: string, text: string]>;
  readonly onChange: (value: string) => void;
}

function Choice({ label, all, value, options, onChange }: ChoiceProps) {
  // A linked choice may be about something that the list does not have.
  const isListed = value === "" || options.some(([option]) => option === value);
  return (
    <Field label={label}>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{all}</option>
        {!isListed && <option value={value}>{visibleText(value)}</option>}
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {visibleText(text)}
          </option>
        ))}
      </select>
    </Field>
  );
}

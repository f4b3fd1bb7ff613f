import { listed, sentences } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Check, Field, typed } from "../../ui/form.tsx";
import { rich } from "../../ui/rich.tsx";
import { Code } from "./answer.tsx";
import type { Param } from "./openrpc.ts";
import { type Entry, emptyEntry } from "./request.ts";

export interface ParamFieldProps {
  readonly param: Param;
  readonly entry: Entry | undefined;
  readonly problem: string | undefined;
  readonly onChange: (entry: Entry) => void;
}

/** Field for one param. */
export function ParamField({ param, entry = emptyEntry, problem, onChange }: ParamFieldProps) {
  const { name, kind, nullable } = param;
  const hasOwnNull = nullable && kind !== "boolean" && kind !== "choice";
  return (
    <div class="explorer-param">
      <Field label={name} hint={hintOf(param)} error={problem}>
        {inputFor(param, entry, onChange)}
      </Field>
      {param.schema !== undefined && (
        <details>
          <summary>{t.api.jsonSchema}</summary>
          <Code label={t.api.schemaOf(name)} text={JSON.stringify(param.schema, null, 2)} />
        </details>
      )}
      {hasOwnNull && (
        <Check
          label={rich(t.api.sendNull, { as: <span class="unseen"> {t.api.asName(name)}</span> })}
          checked={entry.isNull}
          onChange={(isNull) => onChange({ ...entry, isNull })}
        />
      )}
    </div>
  );
}

function inputFor(param: Param, entry: Entry, onChange: (entry: Entry) => void) {
  const { kind, isSecret } = param;
  const input = {
    value: entry.text,
    disabled: entry.isNull,
    spellcheck: false,
    autocomplete: "off",
    onInput: (event: Event) => onChange({ ...entry, text: typed(event) }),
  } as const;
  if (kind === "boolean" || kind === "choice") return <ChoiceInput {...{ param, entry, onChange }} />;
  if (kind === "json") return <textarea rows={4} {...input} />;
  if (isSecret) return <input type="password" {...input} autocomplete="new-password" />;
  if (kind === "integer" || kind === "number") return <input type="text" inputMode="decimal" {...input} />;
  // Files and SQL statements have several lines.
  return <textarea rows={entry.text.includes("\n") ? 6 : 1} {...input} />;
}

interface ChoiceInputProps extends Pick<ParamFieldProps, "param" | "onChange"> {
  readonly entry: Entry;
  /** Set by the surrounding `Field`. */
  readonly id?: string;
}

function ChoiceInput({ param, entry, onChange, ...given }: ChoiceInputProps) {
  const choices = param.kind === "boolean" ? ["true", "false"] : param.choices;
  return (
    <select
      {...given}
      value={entry.isNull ? "null" : entry.text}
      onChange={(event: Event) => {
        const text = typed(event);
        onChange(text === "null" ? { text: "", isNull: true } : { text, isNull: false });
      }}
    >
      <option value="">{param.required ? t.api.chooseOne : t.api.notSent}</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
      {param.nullable && <option value="null">null</option>}
    </select>
  );
}

const kindLabels = {
  get text() {
    return t.api.text;
  },
  get integer() {
    return t.api.wholeNumber;
  },
  get number() {
    return t.api.aNumber;
  },
  get boolean() {
    return t.api.trueOrFalse;
  },
  get choice() {
    return t.api.oneOfList;
  },
  json: "JSON",
};

function hintOf({ kind, required, isCredential, description }: Param): string {
  const typeText = listed([kindLabels[kind], ...(required ? [] : [t.api.optional])]);
  return sentences(
    t.api.paramHint(typeText, description.replaceAll("`", "")),
    isCredential && t.api.credentialHint,
  );
}

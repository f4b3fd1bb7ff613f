import { Check, Field, typed } from "../../ui/field.tsx";
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
          <summary>JSON Schema</summary>
          <Code label={`JSON Schema of ${name}`} text={JSON.stringify(param.schema, null, 2)} />
        </details>
      )}
      {hasOwnNull && (
        <Check
          label={
            <>
              Send null<span class="unseen"> as {name}</span>
            </>
          }
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
      <option value="">{param.required ? "Choose…" : "Not sent"}</option>
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
  text: "text",
  integer: "whole number",
  number: "number",
  boolean: "true or false",
  choice: "one of a list",
  json: "JSON",
};

function hintOf({ kind, required, isCredential, description }: Param): string {
  const typeText = [kindLabels[kind], ...(required ? [] : ["optional"])].join(", ");
  const about = description === "" ? "" : `: ${description.replaceAll("`", "")}`;
  return `${typeText}${about}.${isCredential ? " Leave empty to use the token that you are signed in with." : ""}`;
}

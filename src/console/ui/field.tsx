import { type ComponentChildren, cloneElement, type VNode } from "preact";
import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Problem with the current value. */
  readonly error?: string | undefined;
  /** One input, select or textarea. */
  readonly children: VNode<{ id?: string }>;
}

/** Input with its label, hint and error, linked for screen readers. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const about = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`]
    .filter((part) => part !== "")
    .join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, {
        id,
        ...(about === "" ? {} : { "aria-describedby": about }),
        ...(error === undefined ? {} : { "aria-invalid": "true" }),
      } as { id: string })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="fault" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

export interface CheckProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly hint?: string;
  readonly onChange: (checked: boolean) => void;
}

export function Check({ label, checked, disabled, hint, onChange }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event: Event) => onChange((event.currentTarget as HTMLInputElement).checked)}
      />
      <span>
        {label}
        {hint !== undefined && <small>{hint}</small>}
      </span>
    </label>
  );
}

export interface ChoiceProps {
  /** The same for all choices of a fieldset. */
  readonly name: string;
  readonly label: string;
  readonly checked: boolean;
  readonly hint?: string;
  readonly onChoose: () => void;
}

/** One of several choices, to be shown in a fieldset. */
export function Choice({ name, label, checked, hint, onChoose }: ChoiceProps) {
  return (
    <label class="check">
      <input type="radio" name={name} checked={checked} onChange={onChoose} />
      <span>
        {label}
        {hint !== undefined && <small>{hint}</small>}
      </span>
    </label>
  );
}

/** Current value of the input that fired the event. */
export function typed(event: Event): string {
  return (event.currentTarget as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement).value;
}

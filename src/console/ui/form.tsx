import { type ComponentChildren, cloneElement, createContext, type RefObject, type VNode } from "preact";
import { useContext, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { RpcError } from "../../client/index.ts";
import { t } from "../text/text.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { explain, Problem } from "./problem.tsx";

/** FieldError is a refusal of the console itself that belongs to a field of a form. */
export class FieldError extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** Field that a refusal is about; undefined if it is about the whole form. */
function fieldOf(refusal: unknown): string | undefined {
  if (refusal instanceof FieldError) return refusal.field;
  const field = refusal instanceof RpcError ? refusal.data.field : undefined;
  return typeof field === "string" ? field : undefined;
}

interface FormState {
  readonly refusal: unknown;
  /** Names of the fields that show a refusal themselves. */
  readonly shown: Set<string>;
  readonly busy: boolean;
}

const noForm: FormState = { refusal: undefined, shown: new Set(), busy: false };
const CurrentForm = createContext(noForm);

interface FormProps {
  /** Accessible name. */
  readonly label?: string;
  readonly class?: string;
  /**
   * Called for the `Submit` button, for Enter, and for Ctrl+Enter in a field of several lines. A rejection is shown at the field that
   * it names, else by `FormProblem`.
   */
  readonly onSubmit: () => unknown;
  /** Called for Escape, which then does not close the dialog around the form. */
  readonly onEscape?: () => void;
  /** A form with a ref can take the focus. */
  readonly formRef?: RefObject<HTMLFormElement | null>;
  readonly children: ComponentChildren;
}

/** Form with fields, a `FormProblem` and a `Submit` button. A refusal is shown until the next input. */
export function Form({ label, class: name = "form", onSubmit, onEscape, formRef, children }: FormProps) {
  const [refusal, setRefusal] = useState<unknown>();
  const [shown] = useState(() => new Set<string>());
  const [busy, setBusy] = useState(false);
  const isRunning = useRef(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isRunning.current) return;
    isRunning.current = true;
    setRefusal(undefined);
    setBusy(true);
    try {
      await onSubmit();
    } catch (error) {
      setRefusal(error);
    }
    isRunning.current = false;
    setBusy(false);
  };
  return (
    <CurrentForm.Provider value={{ refusal, shown, busy }}>
      <form
        ref={formRef ?? null}
        class={name}
        aria-label={label}
        tabIndex={formRef === undefined ? undefined : -1}
        onInput={() => {
          if (refusal !== undefined) setRefusal(undefined);
        }}
        onKeyDown={(event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }) => {
          const isSend = event.key === "Enter" && (event.ctrlKey || event.metaKey);
          if (isSend) event.currentTarget.querySelector<HTMLElement>("[type=submit]:enabled")?.click();
          if (event.key !== "Escape" || onEscape === undefined) return;
          event.preventDefault();
          onEscape();
        }}
        onSubmit={(event: Event) => void submit(event)}
      >
        {children}
      </form>
    </CurrentForm.Provider>
  );
}

interface SubmitProps extends Pick<ButtonProps, "children" | "icon" | "kind" | "disabled"> {
  /** Shown while it is busy. */
  readonly busyText?: string;
}

/** Button that sends the form. It is busy until that has an answer. */
export function Submit({ children, busyText, ...props }: SubmitProps) {
  const { busy } = useContext(CurrentForm);
  return (
    <Button kind="primary" {...props} type="submit" busy={busy}>
      {busy && busyText !== undefined ? busyText : children}
    </Button>
  );
}

/** FormProblem that no field shows. It stands behind the fields. */
export function FormProblem() {
  const { refusal, shown } = useContext(CurrentForm);
  const field = fieldOf(refusal);
  if (refusal === undefined || (field !== undefined && shown.has(field))) return null;
  return <Problem error={refusal} />;
}

/** FormProblem of a field that is not a `Field`, such as a group of choices. */
export function FieldProblem({ field }: { readonly field: string }) {
  const fault = useRefusal(field);
  return fault === undefined ? null : (
    <p class="fault" role="alert">
      {fault}
    </p>
  );
}

function useRefusal(field: string | undefined): string | undefined {
  const { refusal, shown } = useContext(CurrentForm);
  useLayoutEffect(() => {
    if (field === undefined) return;
    shown.add(field);
    return () => void shown.delete(field);
  }, [field]);
  if (field === undefined) return undefined;
  return refusal !== undefined && fieldOf(refusal) === field ? explain(refusal) : undefined;
}

interface FormDialogProps extends Pick<FormProps, "onSubmit" | "children"> {
  readonly title: string;
  readonly onClose: () => void;
  /** Label of the button that sends it. */
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly wide?: boolean;
}

/** Dialog with a form, its refusal, and the buttons Cancel and `action`. */
export function FormDialog({
  title,
  onClose,
  action,
  danger,
  disabled = false,
  wide = false,
  ...form
}: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form onSubmit={form.onSubmit}>
        {form.children}
        <FormProblem />
        <footer>
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Submit kind={danger ? "danger" : "primary"} disabled={disabled}>
            {action}
          </Submit>
        </footer>
      </Form>
    </Dialog>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Problem with the current value. */
  readonly error?: string | undefined;
  /** Name under which a server's refusal means this field. */
  readonly field?: string | undefined;
  /** One input, select or textarea. */
  readonly children: VNode<{ id?: string }>;
}

/** Input with its label, hint and error, linked for screen readers. */
export function Field({ label, hint, error: own, field, children }: FieldProps) {
  const id = useId();
  const refused = useRefusal(field);
  const error = own ?? refused;
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

interface TextFieldProps extends Omit<FieldProps, "children"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: "text" | "password" | "datetime-local" | "number";
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly inputMode?: "numeric";
  readonly maxLength?: number;
  /** Offered while typing. */
  readonly suggestions?: readonly string[] | undefined;
  readonly inputRef?: RefObject<HTMLInputElement | null>;
}

/** Field for one line. The browser neither corrects nor remembers it. */
export function TextField({ label, hint, error, field, onChange, ...input }: TextFieldProps) {
  const { type = "text", autocomplete = "off", suggestions, inputRef, ...rest } = input;
  const list = useId();
  return (
    <>
      <Field label={label} hint={hint} error={error} field={field}>
        <input
          ref={inputRef ?? null}
          {...({ type } as { type: "text" })}
          autocomplete={autocomplete}
          spellcheck={false}
          autocapitalize="off"
          list={suggestions === undefined ? undefined : list}
          {...rest}
          onInput={(event: Event) => onChange(typed(event))}
        />
      </Field>
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </>
  );
}

interface CheckProps {
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

interface ChoiceProps {
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

interface SegmentsProps<V extends string> {
  /** Accessible name of the group. */
  readonly label: string;
  readonly options: ReadonlyArray<{
    readonly value: V;
    readonly title: ComponentChildren;
    /** Tooltip. */
    readonly tip?: string;
    /** Accessible name of an icon. */
    readonly name?: string;
    readonly lang?: string;
  }>;
  /** Undefined when none is chosen. */
  readonly value: V | undefined;
  readonly onChange: (value: V) => void;
  readonly class?: string;
  /** Tooltip of all. */
  readonly tip?: string;
}

/** Buttons in a row, of which one is pressed. */
export function Segments<V extends string>({ label, options, value, onChange, ...more }: SegmentsProps<V>) {
  return (
    <fieldset class={`segments ${more.class ?? ""}`} title={more.tip}>
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          lang={option.lang}
          title={option.tip}
          aria-label={option.name}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.title}
        </button>
      ))}
    </fieldset>
  );
}

interface SearchProps {
  /** Accessible name, and the placeholder unless another is given. */
  readonly label: string;
  readonly placeholder?: string;
  /** Tooltip. */
  readonly tip?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Field for a search. The key `/` leads to the first one of a page. */
export function Search({ label, placeholder = label, tip, value, onChange }: SearchProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      title={tip}
      value={value}
      onInput={(event: Event) => onChange(typed(event))}
    />
  );
}

/** Current value of the input that fired the event. */
export function typed(event: Event): string {
  return (event.currentTarget as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement).value;
}

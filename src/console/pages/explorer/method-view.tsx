import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  InternalError,
  MethodNotFound,
  type ParamsOf,
  PermissionDenied,
  RpcError,
  type SubscriptionName,
} from "../../../client/index.ts";
import { bytes, listed, number, sentences } from "../../format.ts";
import { serverUrl, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton, save } from "../../ui/copy.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Check, Field, Form, Submit, typed } from "../../ui/form.tsx";
import { explain, Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import {
  curlLine,
  type Entries,
  type Entry,
  emptyEntry,
  type MethodInfo,
  maskedRequest,
  type Param,
  parseEntries,
} from "./model.ts";

/** One method: description, form for its params, request and answer. */
export function MethodView({ method }: { readonly method: MethodInfo }) {
  const { client, rights } = useSession();
  const [entries, setEntries] = useState<Entries>({});
  const [answer, setAnswer] = useState<Answer>();
  const [busy, setBusy] = useState(false);
  const leave = useRef<AbortController>(undefined);
  const heading = useRef<HTMLHeadingElement>(null);
  // Announces the method to screen readers, and scrolls to it after a click far down in the list.
  useLayoutEffect(() => heading.current?.focus(), []);
  useEffect(() => () => leave.current?.abort(), []);
  const { params, problems } = parseEntries(method.params, entries);
  const isReady = Object.keys(problems).length === 0;
  const send = async () => {
    const text = method.warning;
    if (
      text !== undefined &&
      !(await confirm({ title: t.api.callQuestion(method.name), text, action: t.api.callIt, danger: true }))
    )
      return;
    const controller = new AbortController();
    leave.current = controller;
    setBusy(true);
    const answered = await timed(() => client.callAny(method.name, params, { signal: controller.signal }));
    if (!controller.signal.aborted) setAnswer(answered);
    setBusy(false);
  };
  return (
    <article class="explorer-method form" aria-label={method.name}>
      <h2 class="mono" ref={heading} tabIndex={-1}>
        {method.name}
      </h2>
      <p>{method.doc.replaceAll("`", "")}</p>
      {method.deprecated !== undefined && <p class="notice">{method.deprecated}</p>}
      <p class="muted">
        {sentences(
          t.api.needs(method.need.replaceAll("`", "")),
          !rights.meetsOneOf(method.requirements) && t.api.notYours,
        )}
      </p>
      <Form class="card form" onSubmit={() => isReady && !method.isStream && send()}>
        {method.params.map((param) => (
          <ParamField
            key={param.name}
            param={param}
            entry={entries[param.name]}
            problem={problemAt(param.name, problems, entries, answer)}
            onChange={(entry) => setEntries((before) => ({ ...before, [param.name]: entry }))}
          />
        ))}
        {method.params.length === 0 && <p class="muted">{t.api.noParams}</p>}
        {!method.isStream && (
          <div class="row">
            <Submit disabled={!isReady} busyText={t.api.sending}>
              {t.api.send}
            </Submit>
            {busy && <Button onClick={() => leave.current?.abort()}>{t.frame.cancel}</Button>}
            <span class="muted">
              {rich(t.api.orKeys, { ctrl: <kbd>Ctrl</kbd>, enter: <kbd>Enter</kbd> })}
            </span>
          </div>
        )}
      </Form>
      {method.isStream && <StreamView method={method.name} params={isReady ? params : undefined} />}
      <div aria-live="polite">
        {answer !== undefined && <AnswerView answer={answer} name={method.name} />}
      </div>
      <RequestView method={method} params={params} />
    </article>
  );
}

async function timed(call: () => Promise<unknown>): Promise<Answer> {
  const start = performance.now();
  try {
    return { kind: "result", result: await call(), ms: performance.now() - start };
  } catch (error) {
    return { kind: "error", error, ms: performance.now() - start };
  }
}

/** Problem to show at a field. An untouched field shows none. */
function problemAt(
  name: string,
  problems: Readonly<Record<string, string>>,
  entries: Entries,
  answer: Answer | undefined,
): string | undefined {
  if (entries[name] !== undefined && problems[name] !== undefined) return problems[name];
  return fieldOf(answer) === name ? t.api.refused : undefined;
}

/** Request of the form, as JSON and as a curl command. */
function RequestView({
  method: { name, params: declared, isStream },
  params,
}: {
  readonly method: MethodInfo;
  readonly params: Readonly<Record<string, unknown>>;
}) {
  const { line, variables } = curlLine(serverUrl, name, declared, params);
  return (
    <>
      <section class="form" aria-label={t.api.request}>
        <h3>{t.api.request}</h3>
        <Code
          label={t.api.requestJson}
          text={JSON.stringify(maskedRequest(name, declared, params), null, 2)}
        />
      </section>
      {!isStream && (
        <section class="form" aria-label={t.api.sameWithCurl}>
          <h3>{t.api.withCurl}</h3>
          {variables.map((variable) => (
            <p key={variable} class="muted">
              {rich(t.api.firstOnce, { command: <code>export {variable}=…</code> })}
            </p>
          ))}
          <Code label={t.api.curlCommand} text={line} />
          <div class="row">
            <CopyButton text={line} label={t.api.copyCommand} />
          </div>
        </section>
      )}
    </>
  );
}

interface ParamFieldProps {
  readonly param: Param;
  readonly entry: Entry | undefined;
  readonly problem: string | undefined;
  readonly onChange: (entry: Entry) => void;
}

/** Field for one param. */
function ParamField({ param, entry = emptyEntry, problem, onChange }: ParamFieldProps) {
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

function kindText(kind: Param["kind"]): string {
  return {
    text: t.api.text,
    integer: t.api.wholeNumber,
    number: t.api.aNumber,
    boolean: t.api.trueOrFalse,
    choice: t.api.oneOfList,
    json: "JSON",
  }[kind];
}

function hintOf({ kind, required, isCredential, description }: Param): string {
  const typeText = listed([kindText(kind), ...(required ? [] : [t.api.optional])]);
  return sentences(
    t.api.paramHint(typeText, description.replaceAll("`", "")),
    isCredential && t.api.credentialHint,
  );
}

/** Count of latest events to keep. */
const maxEvents = 200;

interface StreamEvent {
  readonly id: number;
  readonly text: string;
}

interface StreamViewProps {
  readonly method: string;
  /** Undefined while the form has problems. */
  readonly params: Readonly<Record<string, unknown>> | undefined;
}

/** Runs a subscription over its own WebSocket until it is stopped or the page is left. */
function StreamView({ method, params }: StreamViewProps) {
  const { client } = useSession();
  const stop = useRef<AbortController>(undefined);
  const [state, setState] = useState<"stopped" | "connecting" | "running" | "broken">("stopped");
  const [events, setEvents] = useState<readonly StreamEvent[]>([]);
  const [count, setCount] = useState(0);
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    stop.current = controller;
    setEvents([]);
    setCount(0);
    setFailure(undefined);
    setState("connecting");
    let received = 0;
    try {
      const stream = client.subscribe(method as SubscriptionName, params as ParamsOf<SubscriptionName>, {
        signal: controller.signal,
        onConnect: () => setState("running"),
        onBreak: () => setState("broken"),
      });
      for await (const event of stream) {
        received += 1;
        const one = { id: received, text: JSON.stringify(event, null, 2) };
        setCount(received);
        setEvents((before) => [one, ...before.slice(0, maxEvents - 1)]);
      }
    } catch (error) {
      setFailure(error);
    }
    setState("stopped");
  };
  return (
    <section class="form" aria-label={t.api.events}>
      <div class="row">
        {state === "stopped" ? (
          <Button icon="play" kind="primary" disabled={params === undefined} onClick={() => void start()}>
            {t.api.start}
          </Button>
        ) : (
          <Button icon="pause" onClick={() => stop.current?.abort()}>
            {t.api.stop}
          </Button>
        )}
        <span class="muted" role="status">
          {sentences(
            {
              stopped: t.api.notRunning,
              connecting: t.api.connecting,
              running: t.api.running,
              broken: t.api.broke,
            }[state],
            t.api.countEvents(count),
            count > maxEvents && t.api.lastShown(maxEvents),
          )}
        </span>
      </div>
      {failure !== undefined && <Problem error={new Error(errorText(failure))} />}
      <ol class="explorer-events">
        {events.map(({ id, text }) => (
          <li key={id}>
            <Code label={t.api.event(id)} text={text} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Result or error of a call, with its duration. */
type Answer =
  | { readonly kind: "result"; readonly result: unknown; readonly ms: number }
  | { readonly kind: "error"; readonly error: unknown; readonly ms: number };

/** JSON-RPC response as received; undefined when there was none. */
function wireAnswer(answer: Answer): object | undefined {
  if (answer.kind === "result") return { jsonrpc: "2.0", id: 1, result: answer.result };
  if (!(answer.error instanceof RpcError)) return undefined;
  const { code, message, data } = answer.error;
  return { jsonrpc: "2.0", id: 1, error: { code, message, data } };
}

/** Sentence about an error, with advice. */
function errorText(error: unknown): string {
  if (error instanceof PermissionDenied) return t.api.seeNeed(explain(error));
  if (error instanceof MethodNotFound) return t.api.serverChanged(explain(error));
  if (error instanceof InternalError) return t.api.serverBug(explain(error));
  if (error instanceof RpcError && error.kind === "NeedsWebSocket")
    return t.api.needsSubscription(explain(error));
  return explain(error);
}

/** Param that an error is about. */
function fieldOf(answer: Answer | undefined): string | undefined {
  if (answer?.kind !== "error" || !(answer.error instanceof RpcError)) return undefined;
  const { field } = answer.error.data;
  return typeof field === "string" ? field.split(/[.[]/, 1)[0] : undefined;
}

/** Longest answer that is shown. A longer text would make the page slow. */
const maxShownChars = 200_000;

/** Answer of the server as JSON, with its duration. */
function AnswerView({ answer, name }: { readonly answer: Answer; readonly name: string }) {
  const wire = wireAnswer(answer);
  const text = wire === undefined ? "" : JSON.stringify(wire, null, 2);
  return (
    <section class="form" aria-label={t.api.answer}>
      <div class="row">
        <h3>{t.api.answer}</h3>
        <span class={answer.kind === "result" ? "badge good" : "badge bad"}>
          {answer.kind === "result" ? "result" : "error"}
        </span>
        <span class="muted">{t.api.after(number(Math.round(answer.ms)))}</span>
      </div>
      {answer.kind === "error" && <Problem error={new Error(errorText(answer.error))} />}
      {wire !== undefined && (
        <>
          <Code label={t.api.answerJson} text={text.slice(0, maxShownChars)} />
          {text.length > maxShownChars && (
            <p class="muted">{t.api.shownPart(bytes(maxShownChars), bytes(text.length))}</p>
          )}
          <div class="row">
            <CopyButton text={text} label={t.api.copyAnswer} />
            <Button
              icon="download"
              onClick={() => save(`${name}.json`, new Blob([text], { type: "application/json" }))}
            >
              {t.frame.save}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

/** Block of code. It scrolls, so it must be focusable. */
function Code({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <section class="explorer-code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}

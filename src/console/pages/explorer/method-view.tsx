import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { sentences } from "../../format.ts";
import { serverUrl, useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { rich } from "../../ui/rich.tsx";
import { type Answer, AnswerView, Code, fieldOf } from "./answer.tsx";
import type { MethodInfo } from "./openrpc.ts";
import { ParamField } from "./param-field.tsx";
import { curlLine, type Entries, maskedRequest, parseEntries } from "./request.ts";
import { StreamView } from "./stream-view.tsx";

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
    const answered = await timed(() => client.callAny(method.name, params, controller.signal));
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
      <form
        class="card form"
        onSubmit={(event: Event) => {
          event.preventDefault();
          if (isReady && !busy && !method.isStream) void send();
        }}
        onKeyDown={(event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
        }}
      >
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
            <Button kind="primary" type="submit" busy={busy} disabled={!isReady}>
              {busy ? t.api.sending : t.api.send}
            </Button>
            {busy && <Button onClick={() => leave.current?.abort()}>{t.frame.cancel}</Button>}
            <span class="muted">
              {rich(t.api.orKeys, { ctrl: <kbd>Ctrl</kbd>, enter: <kbd>Enter</kbd> })}
            </span>
          </div>
        )}
      </form>
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

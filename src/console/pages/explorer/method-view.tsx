import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { type Answer, fieldOf } from "./answer.ts";
import { AnswerView } from "./answer-view.tsx";
import { type Entries, fillIn } from "./entries.ts";
import { surelyNot } from "./may.ts";
import type { MethodInfo } from "./openrpc.ts";
import { ParamField } from "./param-field.tsx";
import { RequestView } from "./request-view.tsx";
import { StreamView } from "./stream-view.tsx";

/** One method: what it does, its params as a form, the request and the answer. */
export function MethodView({ method }: { readonly method: MethodInfo }) {
  const { client, rights } = useSession();
  const [entries, setEntries] = useState<Entries>({});
  const [answer, setAnswer] = useState<Answer>();
  const [busy, setBusy] = useState(false);
  const leave = useRef<AbortController>(undefined);
  const heading = useRef<HTMLHeadingElement>(null);
  // Tells a screen reader where one has come to, and brings it into view after a click far down in the list.
  useLayoutEffect(() => heading.current?.focus(), []);
  useEffect(() => () => leave.current?.abort(), []);
  const { params, problems } = fillIn(method.params, entries);
  const isReady = Object.keys(problems).length === 0;
  const send = async () => {
    const text = method.warning;
    if (
      text !== undefined &&
      !(await confirm({ title: `Call ${method.name}?`, text, action: "Call it", danger: true }))
    )
      return;
    const own = new AbortController();
    leave.current = own;
    setBusy(true);
    const answered = await timed(() => client.callAny(method.name, params, own.signal));
    if (!own.signal.aborted) setAnswer(answered);
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
        Needs: {method.need.replaceAll("`", "")}.
        {surelyNot(method.requirements, rights) &&
          " The token that you are signed in with does not have that."}
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
        {method.params.length === 0 && <p class="muted">It takes no params.</p>}
        {!method.isStream && (
          <div class="row">
            <Button kind="primary" type="submit" disabled={!isReady || busy}>
              {busy ? "Sending…" : "Send"}
            </Button>
            {busy && <Button onClick={() => leave.current?.abort()}>Cancel</Button>}
            <span class="muted">
              or <kbd>Ctrl</kbd> <kbd>Enter</kbd>
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

/** A field that nobody touched yet is not told to be wrong. */
function problemAt(
  name: string,
  problems: Readonly<Record<string, string>>,
  entries: Entries,
  answer: Answer | undefined,
): string | undefined {
  if (entries[name] !== undefined && problems[name] !== undefined) return problems[name];
  return fieldOf(answer) === name ? "The server does not take this; see its answer." : undefined;
}

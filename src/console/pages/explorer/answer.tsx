import { InternalError, MethodNotFound, PermissionDenied, RpcError } from "../../../client/index.ts";
import { bytes, number } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { explain, Problem } from "../../ui/problem.tsx";
import { save } from "../../ui/save.ts";

/** Result or error of a call, with its duration. */
export type Answer =
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
export function errorText(error: unknown): string {
  if (error instanceof PermissionDenied) return t.api.seeNeed(explain(error));
  if (error instanceof MethodNotFound) return t.api.serverChanged(explain(error));
  if (error instanceof InternalError) return t.api.serverBug(explain(error));
  if (error instanceof RpcError && error.kind === "NeedsWebSocket")
    return t.api.needsSubscription(explain(error));
  return explain(error);
}

/** Param that an error is about. */
export function fieldOf(answer: Answer | undefined): string | undefined {
  if (answer?.kind !== "error" || !(answer.error instanceof RpcError)) return undefined;
  const { field } = answer.error.data;
  return typeof field === "string" ? field.split(/[.[]/, 1)[0] : undefined;
}

/** Longest answer that is shown. A longer text would make the page slow. */
const maxShownChars = 200_000;

/** Answer of the server as JSON, with its duration. */
export function AnswerView({ answer, name }: { readonly answer: Answer; readonly name: string }) {
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
export function Code({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <section class="explorer-code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}

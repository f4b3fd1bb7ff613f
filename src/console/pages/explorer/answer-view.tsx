import { bytes } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Problem } from "../../ui/problem.tsx";
import { save } from "../../ui/save.ts";
import { type Answer, errorWords, wireAnswer } from "./answer.ts";
import { Code } from "./code.tsx";

/** A longer text would make the page slow. */
const mostShown = 200_000;

/** What the server answered, as JSON, with the time that it took. */
export function AnswerView({ answer, name }: { readonly answer: Answer; readonly name: string }) {
  const wire = wireAnswer(answer);
  const text = wire === undefined ? "" : JSON.stringify(wire, null, 2);
  return (
    <section class="form" aria-label="Answer">
      <div class="row">
        <h3>Answer</h3>
        <span class={answer.kind === "result" ? "badge good" : "badge bad"}>
          {answer.kind === "result" ? "result" : "error"}
        </span>
        <span class="muted">after {Math.round(answer.ms).toLocaleString("en")} ms</span>
      </div>
      {answer.kind === "error" && <Problem error={new Error(errorWords(answer.error))} />}
      {wire !== undefined && (
        <>
          <Code label="Answer as JSON" text={text.slice(0, mostShown)} />
          {text.length > mostShown && (
            <p class="muted">
              The first {bytes(mostShown)} of {bytes(text.length)} are shown. Save the answer to see the rest.
            </p>
          )}
          <div class="row">
            <CopyButton text={text} label="Copy the answer" />
            <Button
              icon="down"
              onClick={() => save(`${name}.json`, new Blob([text], { type: "application/json" }))}
            >
              Save
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

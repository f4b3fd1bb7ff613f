import { useMemo, useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { Check } from "../../ui/field.tsx";
import { type DiffLine, diffLines, withContext } from "./diff.ts";
import { hasSecrets, hideSecrets } from "./secrets.ts";

/** What one text has that another has not, by line; passwords are hidden until they are asked for. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const [shows, setShows] = useState(false);
  const parts = useMemo(() => withContext(diffLines(before, after)), [before, after]);
  const secret = parts.some((part) => typeof part !== "number" && hasSecrets(part.text));
  return (
    <>
      {/* A box that scrolls must be reached by keyboard to be scrolled by it. */}
      <section class="config-diff" aria-label="Changes" tabIndex={0}>
        {parts.map((part, at) =>
          typeof part === "number" ? (
            <p key={at}>… {plural(part, "equal line")}</p>
          ) : (
            <Line key={at} line={part} shows={shows} />
          ),
        )}
      </section>
      {secret && <Check label="Show passwords" checked={shows} onChange={setShows} />}
    </>
  );
}

function Line({ line: { kind, text }, shows }: { readonly line: DiffLine; readonly shows: boolean }) {
  const shown = shows ? text : hideSecrets(text);
  if (kind === "same") return <div>{`  ${shown}`}</div>;
  return kind === "added" ? (
    <ins>
      <span class="unseen">added: </span>+ {shown}
    </ins>
  ) : (
    <del>
      <span class="unseen">removed: </span>− {shown}
    </del>
  );
}

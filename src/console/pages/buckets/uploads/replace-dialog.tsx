import { plural } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { FileName } from "../../../ui/visible-text.tsx";
import type { Plan } from "./plan.ts";
import type { Answer } from "./upload-start.ts";

export interface ReplaceQuestion {
  readonly plan: Plan;
  readonly answer: (answer: Answer) => void;
}

const shown = 8;

export function ReplaceDialog({ plan: { replacing, fresh }, answer }: ReplaceQuestion) {
  const all = replacing.length + fresh.length;
  const names = replacing.slice(0, shown).map(({ path }) => path);
  return (
    <Dialog title="Replace files?" onClose={() => answer("cancel")}>
      <p>
        {all === 1
          ? "The file exists already."
          : `${replacing.length.toLocaleString("en")} of ${plural(all, "file")} exist already.`}{" "}
        {replacing.length === 1
          ? "With “Replace”, the file that is there now is replaced."
          : "With “Replace”, the files that are there now are replaced."}
      </p>
      <ul class="files-names">
        {names.map((name) => (
          <li key={name}>
            <FileName name={name} />
          </li>
        ))}
        {replacing.length > shown && <li class="muted">and {plural(replacing.length - shown, "other")}</li>}
      </ul>
      <footer>
        <Button onClick={() => answer("cancel")}>Cancel</Button>
        <Button onClick={() => answer("skip")}>{fresh.length === 0 ? "Skip" : "Skip these"}</Button>
        <Button kind="danger" onClick={() => answer("replace")}>
          Replace
        </Button>
      </footer>
    </Dialog>
  );
}

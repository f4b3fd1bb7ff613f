import { Icon } from "../../../ui/icons.tsx";
import type { Steps } from "./steps.ts";

const shown = 10;

/** How far changes are, and what of them did not work. */
export function StepsProgress({ steps: { running, done, total, failures } }: { readonly steps: Steps }) {
  return (
    <>
      {running && total > 1 && (
        <div role="status">
          <progress aria-label="Progress" max={total} value={done + failures.length} />
          {(done + failures.length).toLocaleString("en")} of {total.toLocaleString("en")}
        </div>
      )}
      {failures.length > 0 && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <ul class="files-names">
            {failures.slice(0, shown).map((failure) => (
              <li key={failure}>{failure}</li>
            ))}
            {failures.length > shown && <li>and {failures.length - shown} more</li>}
          </ul>
        </div>
      )}
    </>
  );
}

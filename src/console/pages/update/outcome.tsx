import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icons.tsx";
import type { Run } from "./run.ts";

/** Result of the last update. */
export function Outcome({ run }: { readonly run: Run }) {
  if (run.step === "same")
    return (
      <p class="notice" role="status">
        The server already runs {run.tag}. Nothing was changed, and it did not restart.
      </p>
    );
  if (run.step === "updated")
    return (
      <div class="notice" role="status">
        <p>The server runs {run.tag} now, and this page is still that of the old version.</p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  if (run.step !== "failed") return null;
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <p>
        The server was not updated to {run.tag}. {sentence(run.why)} {adviceFor(run.code)}
      </p>
    </div>
  );
}

/** What to do here, for failures whose message does not say it. */
function adviceFor(code: string | undefined) {
  if (code === "release_url_missing")
    return (
      <>
        Set it on the page <a href="#/config">Config</a>, and try again.
      </>
    );
  if (code === "release_not_found")
    return "Check that the tag is right, and that it was released for this system.";
  return null;
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

import { useEffect, useState } from "preact/hooks";
import type { VersionRecord } from "../../../client/index.ts";
import { time } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { isUnderWay, type Run, run, update } from "./run.ts";
import { Steps } from "./steps.tsx";
import { tagProblem } from "./tag.ts";

export default function UpdatePage() {
  const { client } = useSession();
  const [from] = useState(() => route.value.query.get("from"));
  const now = run.value;
  const { value, error, reload } = useLoad(
    (signal) => client.call("node-server_version", {}, { signal }),
    [client, now.step === "updated"],
  );
  // Show the message only once: returning to this address later is no new update.
  useEffect(() => {
    if (from !== null) replaceQuery({});
  }, []);
  return (
    <Page title="Update">
      {error !== undefined && !isUnderWay(now) && <Problem error={error} retry={reload} />}
      {from !== null && value !== undefined && now.step === "none" && (
        <p class="notice good" role="status">
          The server was updated from {from} to {value.cargo_version}. The old binary is kept beside the new
          one, with the suffix .old.
        </p>
      )}
      {value !== undefined && <Current record={value} />}
      {now.step === "replacing" || now.step === "restarting" ? <Steps run={now} /> : <Wanted />}
      <Outcome run={now} />
    </Page>
  );
}

function Current({ record }: { readonly record: VersionRecord }) {
  const { build_time, git_commit_sha, git_commit_message, cargo_target_triple } = record;
  return (
    <section class="card form" aria-label="Current version">
      <h2>Version {record.cargo_version}</h2>
      <dl class="facts">
        {Date.parse(build_time) > 0 && (
          <>
            <dt>Built</dt>
            <dd>{time(build_time)}</dd>
          </>
        )}
        {git_commit_sha !== "unknown" && (
          <>
            <dt>Commit</dt>
            <dd>
              <code>{git_commit_sha.slice(0, 12)}</code> {git_commit_message}
            </dd>
          </>
        )}
        <dt>System</dt>
        <dd>{cargo_target_triple === "source" ? "run from source" : cargo_target_triple}</dd>
      </dl>
    </section>
  );
}

/** Form for the version to install. */
function Wanted() {
  const { client } = useSession();
  const [tag, setTag] = useState("");
  const problem = tagProblem(tag);
  const ask = async () => {
    const sure = await confirm({
      title: `Update to ${tag}?`,
      text: (
        <>
          <p>
            The server downloads {tag}, checks it, tries it out and replaces its binary. 3 seconds later it
            restarts: it is unreachable for a moment, and connections are closed.
          </p>
          <p>
            The current binary is kept with the suffix .old. If the new one does not start, the server goes
            back to it by itself.
          </p>
        </>
      ),
      action: "Update",
    });
    if (sure) void update(client, tag);
  };
  return (
    <form
      class="card form"
      aria-label="Another version"
      onSubmit={(event: Event) => {
        event.preventDefault();
        if (problem === undefined) void ask();
      }}
    >
      <h2>Install another version</h2>
      <Field
        label="Tag of the release"
        hint="Newer or older, such as v1.2.3. The server downloads it from its release_url."
        error={tag === "" ? undefined : problem}
      >
        <input
          type="text"
          class="update-tag"
          autocomplete="off"
          spellcheck={false}
          autocapitalize="off"
          placeholder="v1.2.3"
          value={tag}
          onInput={(event: Event) => setTag(typed(event).trim())}
        />
      </Field>
      <div class="row">
        <Button kind="primary" type="submit" icon="update" disabled={problem !== undefined}>
          Update
        </Button>
      </div>
    </form>
  );
}

/** Result of the last update. */
function Outcome({ run }: { readonly run: Run }) {
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

/** Advice on this page for failures whose message gives none. */
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

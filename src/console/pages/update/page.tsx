import { useEffect, useState } from "preact/hooks";
import type { NodeServerClient, ResultOf, VersionRecord } from "../../../client/index.ts";
import { bytes, time } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useCall, useLoad, WhenLoaded } from "../../ui/call.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Field, Form, Submit, typed } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { type Progress, tagProblem } from "./model.ts";
import { isUnderWay, type Run, run, update } from "./run.ts";
import "./update.css";

export default function UpdatePage() {
  const { client } = useSession();
  const [from] = useState(() => route.value.query.get("from"));
  const now = run.value;
  const { value, error, reload } = useLoad(
    (signal) => client.call("node-server_version", {}, { signal }),
    [client, now.step === "updated"],
  );
  // Show the message only once: returning to this address later is not a new update.
  useEffect(() => {
    if (from !== null) replaceQuery({});
  }, []);
  return (
    <Page title={t.frame.update}>
      {error !== undefined && !isUnderWay(now) && <Problem error={error} retry={reload} />}
      {from !== null && value !== undefined && now.step === "none" && (
        <p class="notice good" role="status">
          {t.update.wasUpdated(from, value.cargo_version)}
        </p>
      )}
      {value !== undefined && <Current record={value} />}
      {now.step === "replacing" || now.step === "restarting" ? <Steps run={now} /> : <ReleaseChoice />}
      <Outcome run={now} />
    </Page>
  );
}

function Current({ record }: { readonly record: VersionRecord }) {
  const { build_time, git_commit_sha, git_commit_message, cargo_target_triple } = record;
  return (
    <section class="card form" aria-label={t.update.current}>
      <h2>{t.update.version(record.cargo_version)}</h2>
      <dl class="facts">
        {Date.parse(build_time) > 0 && (
          <>
            <dt>{t.update.built}</dt>
            <dd>{time(build_time)}</dd>
          </>
        )}
        {git_commit_sha !== "unknown" && (
          <>
            <dt>{t.update.commit}</dt>
            <dd>
              <code>{git_commit_sha.slice(0, 12)}</code> {git_commit_message}
            </dd>
          </>
        )}
        <dt>{t.update.system}</dt>
        <dd>{cargo_target_triple === "source" ? t.update.fromSource : cargo_target_triple}</dd>
      </dl>
    </section>
  );
}

type LatestRelease = ResultOf<"node-server_latest_release">;

/** ReleaseChoice shows the newest release with a button to install it, and a form for any other version. */
function ReleaseChoice() {
  const latest = useCall("node-server_latest_release", {});
  return <WhenLoaded of={latest}>{(release) => <Release release={release} />}</WhenLoaded>;
}

function Release({ release }: { readonly release: LatestRelease }) {
  const { client } = useSession();
  // The release server was never asked, because the server does not know it.
  if (release.checked_at === null)
    return (
      <div class="notice">
        <p>{rich(t.update.off, { link: <a href="#/config">{t.frame.config}</a> })}</p>
      </div>
    );
  const newest = release.newer && release.latest !== null ? release.latest : undefined;
  return (
    <>
      <div class={newest === undefined ? "notice" : "notice good"}>
        <p>{latestText(release)}</p>
        {newest !== undefined && (
          <Button icon="update" onClick={() => ask(client, newest)}>
            {t.update.updateTo(visibleText(newest))}
          </Button>
        )}
      </div>
      <WantedForm />
    </>
  );
}

/** Asks for consent to an update, and begins it. */
async function ask(client: NodeServerClient, tag: string): Promise<void> {
  const sure = await confirm({
    title: t.update.question(tag),
    text: (
      <>
        <p>{t.update.whatHappens(tag)}</p>
        <p>{t.update.keepsOld}</p>
      </>
    ),
    action: t.frame.update,
  });
  if (sure) void update(client, tag);
}

function latestText({ current, latest, newer, problem }: LatestRelease) {
  if (newer && latest !== null) return t.update.available(visibleText(latest));
  if (problem !== null)
    return rich(t.update.notAsked, { why: <span lang="en">{visibleText(problem)}</span> });
  return t.update.newest(visibleText(current));
}

/** Form for any version. It begins with the tag that failed, to be corrected or tried again. */
function WantedForm() {
  const { client } = useSession();
  const [tag, setTag] = useState(() => {
    const now = run.peek();
    return now.step === "failed" ? now.tag : "";
  });
  const problem = tagProblem(tag);
  return (
    <Form class="card form" label={t.update.another} onSubmit={() => ask(client, tag)}>
      <h2>{t.update.install}</h2>
      <Field label={t.update.tag} hint={t.update.tagHint} error={tag === "" ? undefined : problem}>
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
        <Submit icon="update" disabled={problem !== undefined}>
          {t.frame.update}
        </Submit>
      </div>
    </Form>
  );
}

/** Result of the last update. */
function Outcome({ run }: { readonly run: Run }) {
  if (run.step === "same")
    return (
      <p class="notice" role="status">
        {t.update.same(run.tag)}
      </p>
    );
  if (run.step === "updated")
    return (
      <div class="notice" role="status">
        <p>{t.update.updated(run.tag)}</p>
        <Button onClick={() => location.reload()}>{t.frame.reload}</Button>
      </div>
    );
  if (run.step !== "failed") return null;
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <p>
        {t.update.failed(run.tag)} {sentence(run.why)} {adviceFor(run.code)}
      </p>
    </div>
  );
}

/** Advice on this page for failures whose message gives none. */
function adviceFor(code: string | undefined) {
  if (code === "release_url_missing")
    return <>{rich(t.update.setIt, { link: <a href="#/config">{t.frame.config}</a> })}</>;
  if (code === "release_not_found") return t.update.checkTag;
  return null;
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

type ActiveRun = Extract<Run, { step: "replacing" | "restarting" }>;

const titles = () => [t.update.stepDownload, t.update.stepCheck, t.update.stepPlace, t.update.stepRestart];

/** Outage that is longer than a normal restart. */
const longOutageMs = 30_000;

/** Steps of a running update. */
function Steps({ run }: { readonly run: ActiveRun }) {
  const now = stepOf(run);
  return (
    <section class="card form" aria-label={t.update.underWay}>
      <h2>{t.update.updatingTo(run.tag)}</h2>
      <ol class="update-steps">
        {titles().map((title, at) => (
          <li key={title} aria-current={at === now ? "step" : undefined}>
            {at < now ? <Icon name="check" /> : <span class="update-dot" aria-hidden="true" />}
            <span>
              {title}
              {at < now && <span class="muted"> {t.update.done}</span>}
              {at === now && <span class="muted"> {t.update.now}</span>}
            </span>
          </li>
        ))}
      </ol>
      {run.step === "replacing" && run.progress?.stage === "downloading" && <Bar progress={run.progress} />}
      <p class="muted" role="status">
        {waitText(run)}
      </p>
    </section>
  );
}

function Bar({ progress }: { readonly progress: Extract<Progress, { stage: "downloading" }> }) {
  const { bytes: done, total } = progress;
  return (
    <div>
      <progress
        aria-label={t.update.download}
        {...(total === undefined ? {} : { value: done, max: total })}
      />
      <p class="muted">
        {total === undefined
          ? t.update.soFar(bytes(done))
          : t.update.downloaded(bytes(done), bytes(total), Math.floor((done / total) * 100))}
      </p>
    </div>
  );
}

function stepOf(run: ActiveRun): number {
  if (run.step === "restarting") return 3;
  const stage = run.progress?.stage;
  if (stage === "trying") return 1;
  return stage === "in place" ? 2 : 0;
}

function waitText(run: ActiveRun): string {
  if (run.step === "replacing") return t.update.mayLeave;
  return run.offlineMs > longOutageMs ? t.update.longOutage : t.update.restarting;
}

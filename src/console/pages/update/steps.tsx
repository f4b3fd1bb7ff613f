import { bytes } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import type { Progress } from "./progress.ts";
import type { Run } from "./run.ts";

type ActiveRun = Extract<Run, { step: "replacing" | "restarting" }>;

const titles = () => [t.update.stepDownload, t.update.stepCheck, t.update.stepPlace, t.update.stepRestart];

/** Outage that is longer than a normal restart. */
const longOutageMs = 30_000;

/** Steps of a running update. */
export function Steps({ run }: { readonly run: ActiveRun }) {
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

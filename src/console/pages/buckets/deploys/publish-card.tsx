import { useEffect, useRef, useState } from "preact/hooks";
import { type DeployCheck, patterns } from "../../../../client/index.ts";
import { bytes, number } from "../../../format.ts";
import { useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useCall, WhenLoaded } from "../../../ui/call.tsx";
import { FileName } from "../../../ui/file-name.tsx";
import { TextField } from "../../../ui/form.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { SiteProblemList } from "../parts.tsx";
import type { DropContents } from "../uploads/drop.ts";
import { Chooser, runOrShowError, useDrop } from "../uploads/use-upload.tsx";
import { Publication, publication } from "./publication.ts";
import { readSite, type Site } from "./site.ts";
import { ZipError, zipLimits } from "./zip.ts";

interface DropSiteProps {
  readonly name: string;
  /** Whether another one is on the page. */
  readonly isHidden: boolean;
}

/** Where a site is dropped or chosen. It takes drops anywhere on the page. */
export function DropSite({ name, isHidden }: DropSiteProps) {
  const { client, rights } = useSession();
  const [preview, setPreview] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const isRefused = preview !== "" && !patterns.previewName.test(preview);
  const start = async (dropped: DropContents) => {
    const { state = "ready" } = publication.peek()?.progress.peek() ?? {};
    if (isHidden || state !== "ready") return toast(t.bucketTabs.oneAtATime, "problem");
    // The field says why.
    if (isRefused) return field.current?.focus();
    const site = await readSite(dropped).catch((error: unknown) => {
      throw error instanceof ZipError ? new Error(zipText(error)) : error;
    });
    if (site.files.length === 0) return toast(t.bucketTabs.noFiles, "problem");
    const started = new Publication(client, { bucket: name, site, preview: preview || undefined });
    publication.value = started;
    setPreview("");
    void started.run();
  };
  const hovering = useDrop((dropped) => runOrShowError(dropped.then(start)));
  if (isHidden) return null;
  return (
    <div class={hovering === undefined ? "site-drop" : "site-drop hovering"}>
      <Icon name="uploadFolder" />
      <p>
        <strong>{t.bucketTabs.dropSite}</strong>
      </p>
      <p class="muted">{t.bucketTabs.dropSiteAbout}</p>
      {rights.may("static-bucket_deploy_preview", name) && (
        <TextField
          label={t.bucketTabs.previewNameLabel}
          hint={t.bucketTabs.previewNameHint}
          error={isRefused ? t.bucketTabs.previewNameRefused : undefined}
          value={preview}
          onChange={(text) => setPreview(text.trim())}
          inputRef={field}
        />
      )}
      <div class="row">
        <Chooser label={t.bucketTabs.chooseFolder} folders kind="primary" onChoose={start} />
        <Chooser label={t.bucketTabs.chooseZip} accept=".zip,application/zip" onChoose={start} />
      </div>
    </div>
  );
}

function zipText({ fault, path }: ZipError): string {
  const { entries, bytes: all, fileBytes } = zipLimits;
  const limits = { files: number(entries), bytes: bytes(all), fileBytes: bytes(fileBytes) };
  return t.bucketTabs.zipFaults[fault](visibleText(path), limits);
}

/** How far the upload of a site is. */
export function PublishProgress({ of: started }: { readonly of: Publication }) {
  const { state, files, allFiles, bytes: done, allBytes, error } = started.progress.value;
  const title = t.bucketTabs.deploying(visibleText(started.site.name) || started.bucket);
  const cancel = () => started.cancel();
  if (state === "failed")
    return (
      <section class="card form" aria-label={title}>
        <h2>{title}</h2>
        <p class="problem" role="alert">
          {error instanceof ZipError ? zipText(error) : explain(error)}
        </p>
        <div class="row">
          <Button onClick={cancel}>{t.frame.cancel}</Button>
          {started.isBlocked ? (
            <Button kind="danger" onClick={() => void started.run({ force: true })}>
              {t.bucketTabs.deployAnyway}
            </Button>
          ) : (
            <Button kind="primary" icon="retry" onClick={() => void started.run()}>
              {t.frame.tryAgain}
            </Button>
          )}
        </div>
      </section>
    );
  const text = state === "reading" ? t.bucketTabs.reading : t.bucketTabs.uploading;
  return (
    <section class="card form" aria-label={title}>
      <h2>{title}</h2>
      <progress aria-label={title} max={Math.max(allBytes, 1)} value={allBytes === 0 ? 1 : done} />
      <div class="row spread">
        <p class="muted">{text(number(files), t.frame.countFiles(allFiles), bytes(done), bytes(allBytes))}</p>
        <Button onClick={cancel}>{t.frame.cancel}</Button>
      </div>
    </section>
  );
}

interface ReviewProps {
  readonly name: string;
  /** Its id. */
  readonly deploy: string;
  readonly label: string;
  /** What the person has dropped, if this console has uploaded it. */
  readonly site: Site | undefined;
  readonly onPreview: (() => Promise<void>) | undefined;
  readonly onPublish: () => Promise<void>;
  readonly onDelete: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** What the publication of a deploy would change, with what can be done about it. */
export function Review({ name, deploy, label, site, onPreview, onPublish, onDelete, onClose }: ReviewProps) {
  const checked = useCall("static-bucket_deploy_check", { name, deploy });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [deploy]);
  const title = t.bucketTabs.reviewTitle(visibleText(label));
  return (
    <section class="card form site-review" aria-label={title}>
      <h2 ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {site !== undefined && <SiteNotes site={site} />}
      <WhenLoaded of={checked} rows={3}>
        {(check) => <Changes check={check} />}
      </WhenLoaded>
      <p class="muted">{t.bucketTabs.publishText}</p>
      <div class="row">
        <Button kind="primary" icon="upload" onClick={onPublish}>
          {t.bucketTabs.publish}
        </Button>
        {onPreview !== undefined && (
          <Button icon="external" onClick={onPreview}>
            {t.bucketTabs.openPreview}
          </Button>
        )}
        <Button icon="trash" onClick={onDelete}>
          {t.bucketTabs.deleteDeploy}
        </Button>
        <Button kind="quiet" onClick={onClose}>
          {t.bucketTabs.later}
        </Button>
      </div>
    </section>
  );
}

/** What is not deployed of a site, and what it lacks. */
function SiteNotes({ site: { files, skipped, unusable } }: { readonly site: Site }) {
  const hasStart = files.some(({ path }) => path === "index.html" || path === "_redirects");
  if (hasStart && skipped === 0 && unusable.length === 0) return null;
  return (
    <>
      {!hasStart && <p class="notice">{t.bucketTabs.noIndex}</p>}
      {unusable.length > 0 && (
        <p class="notice">
          {t.bucketTabs.unusable(t.frame.countFiles(unusable.length), visibleText(unusable[0] ?? ""))}
        </p>
      )}
      {skipped > 0 && <p class="muted">{t.bucketTabs.skipped(t.frame.countFiles(skipped))}</p>}
    </>
  );
}

function Changes({ check }: { readonly check: DeployCheck }) {
  const { added, changed, removed, unchanged, files, problems } = check;
  const [isOpen, setOpen] = useState(false);
  const all = added + changed + removed;
  return (
    <>
      {problems.length > 0 && (
        <div class="notice">
          <div>
            <p>{t.bucketTabs.foundProblems}</p>
            <SiteProblemList problems={problems} />
          </div>
        </div>
      )}
      {all === 0 ? (
        <p>{t.bucketTabs.noChanges(t.frame.countFiles(unchanged))}</p>
      ) : (
        <details onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
          <summary>
            {t.bucketTabs.changes(number(added), number(changed), number(removed), number(unchanged))}
          </summary>
          {isOpen && (
            // Lists that scroll take the focus, for the arrow keys.
            <ul class="site-changes" tabIndex={0} aria-label={t.bucketTabs.review}>
              {files.map(({ path, change, bytes: size }) => (
                <li key={path}>
                  <span class={changeClasses[change]}>{t.bucketTabs.changeNames[change]}</span>
                  <FileName name={path} />
                  <span class="muted">{bytes(size)}</span>
                </li>
              ))}
              {files.length < all && (
                <li class="muted">{t.files.andOthers(t.frame.countOthers(all - files.length))}</li>
              )}
            </ul>
          )}
        </details>
      )}
    </>
  );
}

const changeClasses = { added: "badge good", changed: "badge accent", removed: "badge bad" } as const;

import { useState } from "preact/hooks";
import type { Deploy, PublishedDeploy } from "../../../../client/index.ts";
import { ago, bytes, number, time } from "../../../format.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { confirm } from "../../../ui/dialog.tsx";
import { type MenuItem, MoreMenu } from "../../../ui/more-menu.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { rich } from "../../../ui/rich.tsx";
import { shellQuote } from "../../../ui/shell-quote.ts";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { SiteProblemList } from "../site-problem-list.tsx";
import { PreviewDialog } from "./preview-dialog.tsx";

/** Deploys of a bucket: who made which and when, and what can be done with it. */
export function DeploysTab({ name }: { readonly name: string }) {
  const { client, rights } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => client.call("static-bucket_deploy_list", { name }, { signal }),
    [client, name],
  );
  const [problems, setProblems] = useState<PublishedDeploy["problems"]>([]);
  const mayDeploy = rights.may("static-bucket_deploy_publish", name);
  const mayRead = rights.may("static-bucket_deploy_preview", name);
  const previous = value?.find(({ state }) => state === "previous");

  const publish = async (deploy: Deploy) => {
    const again = deploy.state === "previous";
    const label = labelOf(deploy);
    const sure = await confirm({
      title: again ? t.bucketTabs.rollbackQuestion(label) : t.bucketTabs.publishQuestion(label),
      text: again ? t.bucketTabs.rollbackText(whenOf(deploy)) : t.bucketTabs.publishText,
      action: again ? t.bucketTabs.rollback : t.bucketTabs.publish,
    });
    if (!sure) return;
    const method = again ? "static-bucket_deploy_rollback" : "static-bucket_deploy_publish";
    const done = await client.call(method, { name, deploy: deploy.deploy });
    setProblems(done.problems);
    toast(again ? t.bucketTabs.rolledBack(label) : t.bucketTabs.published(label));
    reload();
  };
  const remove = async (deploy: Deploy) => {
    const sure = await confirm({
      title: t.bucketTabs.deleteDeployQuestion(labelOf(deploy)),
      text: t.bucketTabs.deleteDeployText,
      action: t.bucketTabs.deleteDeploy,
      danger: true,
    });
    if (!sure) return;
    await client.call("static-bucket_deploy_delete", { name, deploy: deploy.deploy });
    toast(t.bucketTabs.deployDeleted(labelOf(deploy)));
    reload();
  };
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton />}
      {problems.length > 0 && (
        <div class="notice" role="status">
          <div>
            <p>{t.bucketTabs.publishedProblems}</p>
            <SiteProblemList problems={problems} />
          </div>
        </div>
      )}
      {value?.length === 0 && <NoDeploys name={name} mayDeploy={mayDeploy} />}
      {value !== undefined && value.length > 0 && (
        <>
          <div class="row spread">
            <p class="muted">{t.bucketTabs.deploysAbout}</p>
            {mayDeploy && previous !== undefined && (
              <Button icon="retry" onClick={() => publish(previous)}>
                {t.bucketTabs.rollbackToLast}
              </Button>
            )}
          </div>
          <div class="table-box">
            <table class="table stacked">
              <thead>
                <tr>
                  <th scope="col">{t.bucketTabs.deploy}</th>
                  <th scope="col">{t.bucketTabs.state}</th>
                  <th scope="col">{t.bucketTabs.by}</th>
                  <th scope="col">{t.bucketTabs.when}</th>
                  <th scope="col" class="number">
                    {t.buckets.files}
                  </th>
                  <th scope="col" class="number">
                    {t.buckets.size}
                  </th>
                  <th scope="col">
                    <span class="unseen">{t.buckets.actions}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {value.map((deploy) => (
                  <DeployRow
                    key={deploy.deploy}
                    name={name}
                    deploy={deploy}
                    mayRead={mayRead && (mayDeploy || deploy.state !== "open")}
                    onPublish={mayDeploy ? () => publish(deploy) : undefined}
                    onDelete={mayDeploy ? () => remove(deploy) : undefined}
                    onSealed={reload}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </>
  );
}

interface DeployRowProps {
  readonly name: string;
  readonly deploy: Deploy;
  readonly mayRead: boolean;
  readonly onPublish: (() => Promise<void>) | undefined;
  readonly onDelete: (() => Promise<void>) | undefined;
  /** Called when a deploy that was being filled takes no more files. */
  readonly onSealed: () => void;
}

function DeployRow({ name, deploy, mayRead, onPublish, onDelete, onSealed }: DeployRowProps) {
  const [previewing, setPreviewing] = useState(false);
  const { state, by, files, changed } = deploy;
  const label = labelOf(deploy);
  const isPublished = state === "published";
  const again = state === "previous";
  const preview = async () => {
    const question = {
      title: t.bucketTabs.sealQuestion,
      text: t.bucketTabs.sealText,
      action: t.bucketTabs.preview,
    };
    if (state !== "open" || (await confirm(question))) setPreviewing(true);
  };
  const closePreview = () => {
    setPreviewing(false);
    if (state === "open") onSealed();
  };
  const items: MenuItem[] = [];
  if (mayRead && !isPublished)
    items.push({ label: t.bucketTabs.preview, icon: "external", onSelect: preview });
  if (onPublish !== undefined && !isPublished)
    items.push({
      label: again ? t.bucketTabs.rollbackToThis : t.bucketTabs.publish,
      icon: again ? "retry" : "upload",
      onSelect: onPublish,
    });
  if (onDelete !== undefined && !isPublished)
    items.push({ label: t.bucketTabs.deleteDeploy, icon: "trash", danger: true, onSelect: onDelete });
  return (
    <tr>
      <th scope="row" class="deploys-name">
        {label !== deploy.deploy && <span>{label}</span>}
        <span class="mono muted">{deploy.deploy}</span>
      </th>
      <td>
        <span class="row">
          <StateBadge state={state} />
          {isPublished && changed && (
            <span class="badge warn" title={t.bucketTabs.changedHint}>
              {t.bucketTabs.changed}
            </span>
          )}
        </span>
      </td>
      <td data-label={t.bucketTabs.by}>{by === "" ? "–" : by}</td>
      <td data-label={t.bucketTabs.when} title={time(deploy.published_at ?? deploy.made_at)}>
        {whenOf(deploy)}
      </td>
      <td class="number" data-label={t.buckets.files}>
        {files === null ? "–" : number(files)}
      </td>
      <td class="number" data-label={t.buckets.size}>
        {deploy.bytes === null ? "–" : bytes(deploy.bytes)}
      </td>
      <td class="row-actions">
        {items.length > 0 && <MoreMenu label={t.buckets.actionsOf(label)} items={items} />}
        {previewing && (
          <PreviewDialog name={name} deploy={deploy.deploy} label={label} onClose={closePreview} />
        )}
      </td>
    </tr>
  );
}

function StateBadge({ state }: Pick<Deploy, "state">) {
  switch (state) {
    case "published":
      return <span class="badge good">{t.bucketTabs.statePublished}</span>;
    case "ready":
      return <span class="badge accent">{t.bucketTabs.stateReady}</span>;
    case "open":
      return <span class="badge warn">{t.bucketTabs.stateOpen}</span>;
    case "previous":
      return <span class="badge">{t.bucketTabs.statePrevious}</span>;
  }
}

/** The note of its author, else its id. The server keeps files from before the first deploy as one that nobody made. */
function labelOf({ deploy, note, by }: Deploy): string {
  if (by === "") return t.bucketTabs.beforeFirstDeploy;
  return note === "" ? deploy : note;
}

function whenOf({ published_at, made_at }: Deploy): string {
  return ago(published_at ?? made_at);
}

/** How a first deploy is made. */
function NoDeploys({ name, mayDeploy }: { readonly name: string; readonly mayDeploy: boolean }) {
  const command = `node-server deploy ./public ${shellQuote(name)}`;
  return (
    <div class="card empty form">
      <p>{t.bucketTabs.noDeploys}</p>
      {mayDeploy && (
        <>
          <p>
            {rich(t.bucketTabs.howToDeploy, { server: serverUrl, login: <code>node-server login</code> })}
          </p>
          <div class="row command">
            <code>{command}</code>
            <CopyButton text={command} />
          </div>
        </>
      )}
    </div>
  );
}

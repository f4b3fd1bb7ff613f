import { useEffect, useState } from "preact/hooks";
import type { Deploy, NodeServerClient, PublishedDeploy } from "../../../../client/index.ts";
import { ago, bytes, number, time } from "../../../format.ts";
import { serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { act, othersMs, useCall, useFollow, WhenLoaded } from "../../../ui/call.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { type Column, DataTable, useTableView } from "../../../ui/data-table.tsx";
import { confirm, Dialog, type Question } from "../../../ui/dialog.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { type MenuItem, MoreMenu } from "../../../ui/more-menu.tsx";
import { rich } from "../../../ui/rich.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { shellQuote } from "../../../ui/visible-text.ts";
import { SiteProblemList } from "../parts.tsx";
import { onHost } from "../path.ts";
import { publication } from "./publication.ts";
import { DropSite, PublishProgress, Review } from "./publish-card.tsx";

/** Deploys of a bucket: who made which and when, and what can be done with it. A site is dropped here to make one. */
export function DeploysTab({ name }: { readonly name: string }) {
  const { client, rights } = useSession();
  const list = useCall("static-bucket_deploy_list", { name }, { changes: useFollow(name), every: othersMs });
  const [problems, setProblems] = useState<PublishedDeploy["problems"]>([]);
  const [reviewed, setReviewed] = useState<Deploy>();
  const [previewed, setPreviewed] = useState<Deploy>();
  const mayDeploy = rights.may("static-bucket_deploy_publish", name);
  const mayPreview = rights.may("static-bucket_deploy_preview", name);
  const started = publication.value?.bucket === name ? publication.value : undefined;
  const isReady = started?.progress.value.state === "ready";
  const isShown =
    started !== undefined && (!isReady || list.value?.some(({ deploy }) => deploy === started.deploy));
  // The deploy is in the list from its beginning.
  useEffect(() => {
    if (started?.deploy !== undefined) list.reload();
  }, [started?.deploy, isReady]);
  const publish = (deploy: Deploy) => {
    const again = deploy.state === "previous";
    const label = labelOf(deploy);
    const method = again ? "static-bucket_deploy_rollback" : "static-bucket_deploy_publish";
    return act({
      ask: {
        title: again ? t.bucketTabs.rollbackQuestion(label) : t.bucketTabs.publishQuestion(label),
        text: again ? t.bucketTabs.rollbackText(whenOf(deploy)) : t.bucketTabs.publishText,
        action: again ? t.bucketTabs.rollback : t.bucketTabs.publish,
      },
      run: () => client.call(method, { name, deploy: deploy.deploy }),
      done: again ? t.bucketTabs.rolledBack(label) : t.bucketTabs.published(label),
      after: afterSwitch,
    });
  };
  const afterSwitch = (done: PublishedDeploy) => {
    setProblems(done.problems);
    setReviewed(undefined);
    if (publication.peek()?.deploy === done.deploy) publication.value = undefined;
    list.reload();
  };
  const remove = (deploy: Deploy) =>
    act({
      ask: {
        title: t.bucketTabs.deleteDeployQuestion(labelOf(deploy)),
        text: t.bucketTabs.deleteDeployText,
        action: t.bucketTabs.deleteDeploy,
        danger: true,
      },
      run: () => client.call("static-bucket_deploy_delete", { name, deploy: deploy.deploy }),
      done: t.bucketTabs.deployDeleted(labelOf(deploy)),
      after: () => closeReview(deploy),
    });
  const closeReview = ({ deploy }: Pick<Deploy, "deploy">) => {
    if (publication.peek()?.deploy === deploy) publication.value = undefined;
    if (reviewed?.deploy === deploy) setReviewed(undefined);
    list.reload();
  };
  const mayEndUpload = async ({ deploy, state }: Deploy, question: Pick<Question, "title" | "action">) =>
    state !== "open" ||
    (isReady && started?.deploy === deploy) ||
    confirm({ ...question, text: t.bucketTabs.sealText });
  const preview = async (deploy: Deploy) => {
    const question = { title: t.bucketTabs.sealQuestion, action: t.bucketTabs.preview };
    if (await mayEndUpload(deploy, question)) setPreviewed(deploy);
  };
  const review = async (deploy: Deploy) => {
    const question = { title: t.bucketTabs.sealToReviewQuestion, action: t.bucketTabs.review };
    if (await mayEndUpload(deploy, question)) setReviewed(deploy);
  };
  const reviewOf = (deploy: Deploy) => (
    <Review
      key={deploy.deploy}
      name={name}
      deploy={deploy.deploy}
      label={labelOf(deploy)}
      site={started?.deploy === deploy.deploy ? started.site : undefined}
      onPreview={
        mayPreview
          ? () => openPreview(client, { name, deploy: deploy.deploy, onBlocked: () => setPreviewed(deploy) })
          : undefined
      }
      onPublish={async () => {
        const done = await client.call("static-bucket_deploy_publish", { name, deploy: deploy.deploy });
        toast(t.bucketTabs.published(labelOf(deploy)));
        afterSwitch(done);
      }}
      onDelete={() => remove(deploy)}
      onClose={() => closeReview(deploy)}
    />
  );
  return (
    <>
      {mayDeploy && rights.overWebdav(name) && <DropSite name={name} isHidden={isShown === true} />}
      {started !== undefined && !isReady && <PublishProgress of={started} />}
      {problems.length > 0 && (
        <div class="notice" role="status">
          <div>
            <p>{t.bucketTabs.publishedProblems}</p>
            <SiteProblemList problems={problems} />
          </div>
        </div>
      )}
      <WhenLoaded of={list}>
        {(deploys) => {
          if (deploys.length === 0) return <NoDeploys name={name} mayDeploy={mayDeploy} />;
          const previous = deploys.find(({ state }) => state === "previous");
          const shown = reviewed?.deploy ?? (isReady ? started?.deploy : undefined);
          const waiting = deploys.find(({ deploy, state }) => deploy === shown && state !== "published");
          return (
            <>
              {waiting !== undefined && reviewOf(waiting)}
              <div class="row spread">
                <p class="muted">{t.bucketTabs.deploysAbout}</p>
                {mayDeploy && previous !== undefined && (
                  <Button icon="retry" onClick={() => publish(previous)}>
                    {t.bucketTabs.rollbackToLast}
                  </Button>
                )}
              </div>
              <DeployTable
                name={name}
                deploys={deploys}
                onPublish={publish}
                onReview={review}
                onPreview={preview}
                onDelete={remove}
              />
              {previewed !== undefined && (
                <PreviewDialog
                  name={name}
                  deploy={previewed.deploy}
                  label={labelOf(previewed)}
                  preview={previewed.state === "previous" ? null : previewed.preview}
                  onClose={() => {
                    setPreviewed(undefined);
                    // A deploy that was being filled takes no more files now.
                    if (previewed.state === "open") list.reload();
                  }}
                />
              )}
            </>
          );
        }}
      </WhenLoaded>
    </>
  );
}

interface DeployTableProps {
  readonly name: string;
  readonly deploys: readonly Deploy[];
  readonly onPublish: (deploy: Deploy) => Promise<boolean>;
  readonly onReview: (deploy: Deploy) => Promise<void>;
  readonly onPreview: (deploy: Deploy) => Promise<void>;
  readonly onDelete: (deploy: Deploy) => Promise<boolean>;
}

function DeployTable({ name, deploys, onPublish, onReview, onPreview, onDelete }: DeployTableProps) {
  const { rights } = useSession();
  const mayDeploy = rights.may("static-bucket_deploy_publish", name);
  const mayPreview = rights.may("static-bucket_deploy_preview", name);
  const mayCheck = mayDeploy && rights.may("static-bucket_deploy_check", name);
  const actionsOf = (deploy: Deploy): MenuItem[] => {
    const { state } = deploy;
    if (state === "published") return [];
    const again = state === "previous";
    const items: MenuItem[] = [];
    if (mayPreview && (mayDeploy || state !== "open"))
      items.push({ label: t.bucketTabs.preview, icon: "external", onSelect: () => onPreview(deploy) });
    if (mayCheck && !again)
      items.push({ label: t.bucketTabs.review, icon: "search", onSelect: () => onReview(deploy) });
    if (mayDeploy)
      items.push(
        {
          label: again ? t.bucketTabs.rollbackToThis : t.bucketTabs.publish,
          icon: again ? "retry" : "upload",
          onSelect: () => onPublish(deploy),
        },
        { label: t.bucketTabs.deleteDeploy, icon: "trash", danger: true, onSelect: () => onDelete(deploy) },
      );
    return items;
  };
  const columns = columnsOf(actionsOf);
  const view = useTableView(deploys, { columns });
  return (
    <DataTable
      {...view}
      label={t.bucketTabs.deploys}
      class="deploys-table"
      stacks
      columns={columns}
      rows={view.shown}
      keyOf={({ deploy }) => deploy}
    />
  );
}

function columnsOf(actionsOf: (deploy: Deploy) => readonly MenuItem[]): ReadonlyArray<Column<Deploy>> {
  return [
    {
      id: "deploy",
      title: t.bucketTabs.deploy,
      kind: "heading",
      cell: (deploy) => (
        <>
          {labelOf(deploy) !== deploy.deploy && <span>{labelOf(deploy)}</span>}
          <span class="mono muted">{deploy.deploy}</span>
        </>
      ),
    },
    {
      id: "state",
      title: t.bucketTabs.state,
      stacked: "line",
      cell: ({ state, changed, preview }) => (
        <span class="row">
          <StateBadge state={state} />
          {preview !== null && <span class="badge">{t.bucketTabs.previewName(preview)}</span>}
          {state === "published" && changed && (
            <span class="badge warn" title={t.bucketTabs.changedHint}>
              {t.bucketTabs.changed}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "by",
      title: t.bucketTabs.by,
      stacked: "label",
      sort: ({ by }) => (by === "" ? null : by),
      cell: ({ by }) => (by === "" ? "–" : by),
    },
    {
      id: "when",
      title: t.bucketTabs.when,
      stacked: "label",
      sort: (deploy) => timeOf(deploy),
      startsDown: true,
      tip: (deploy) => time(timeOf(deploy)),
      cell: whenOf,
    },
    {
      id: "files",
      title: t.buckets.files,
      kind: "number",
      stacked: "label",
      sort: ({ files }) => files,
      startsDown: true,
      cell: ({ files }) => (files === null ? "–" : number(files)),
    },
    {
      id: "size",
      title: t.buckets.size,
      kind: "number",
      stacked: "label",
      sort: ({ bytes: size }) => size,
      startsDown: true,
      cell: ({ bytes: size }) => (size === null ? "–" : bytes(size)),
    },
    {
      id: "actions",
      title: t.buckets.actions,
      kind: "actions",
      cell: (deploy) => {
        const items = actionsOf(deploy);
        return items.length > 0 && <MoreMenu label={t.buckets.actionsOf(labelOf(deploy))} items={items} />;
      },
    },
  ];
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

function timeOf({ published_at, made_at }: Deploy): number {
  return published_at ?? made_at;
}

function whenOf(deploy: Deploy): string {
  return ago(timeOf(deploy));
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

interface OpenedPreview {
  readonly name: string;
  /** Its id. */
  readonly deploy: string;
  /** Called if the browser opens no tab. */
  readonly onBlocked: () => void;
}

/** Makes a preview address and opens it in a new tab. */
async function openPreview(
  client: NodeServerClient,
  { name, deploy, onBlocked }: OpenedPreview,
): Promise<void> {
  // Browsers open a tab only during the click.
  const tab = open("about:blank", "_blank");
  if (tab === null) return onBlocked();
  try {
    const { host, address } = await client.call("static-bucket_deploy_preview", { name, deploy });
    tab.opener = null;
    tab.location.replace((host === null ? serverUrl : onHost(serverUrl, host)) + address);
  } catch (error) {
    tab.close();
    throw error;
  }
}

interface PreviewDialogProps {
  readonly name: string;
  /** Its id. */
  readonly deploy: string;
  readonly label: string;
  /** The name of its stable address. */
  readonly preview: string | null;
  readonly onClose: () => void;
}

/** Address at which a deploy can be looked at. */
function PreviewDialog({ name, deploy, label, preview: stable, onClose }: PreviewDialogProps) {
  const preview = useCall("static-bucket_deploy_preview", { name, deploy });
  return (
    <Dialog title={t.bucketTabs.previewTitle(label)} onClose={onClose}>
      <WhenLoaded of={preview} rows={2}>
        {({ host, address: path, expires }) => {
          const address = (host === null ? serverUrl : onHost(serverUrl, host)) + path;
          return (
            <>
              <p class="dialog-text">
                {stable === null
                  ? t.bucketTabs.previewText(time(expires))
                  : t.bucketTabs.stablePreviewText(stable)}
              </p>
              <div class="row command">
                <code>{address}</code>
                <CopyButton text={address} />
              </div>
              <footer>
                <Button onClick={onClose}>{t.frame.close}</Button>
                <a
                  class="button primary"
                  href={address}
                  target="_blank"
                  rel="noopener noreferrer"
                  data-initial-focus
                >
                  <Icon name="external" />
                  <span>{t.bucketTabs.openPreview}</span>
                </a>
              </footer>
            </>
          );
        }}
      </WhenLoaded>
    </Dialog>
  );
}

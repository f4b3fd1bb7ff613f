import { useState } from "preact/hooks";
import { addOverlay } from "../../overlays.tsx";
import { route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { useFollow, useLoad, WhenLoaded } from "../../ui/call.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { Page } from "../../ui/page.tsx";
import { TabLinks } from "../../ui/tabs.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { type OpenBucket, openAccess, siteOf } from "./bucket-access.ts";
import { BucketList } from "./bucket-list.tsx";
import { bucketTabs, linkToTab, type TabName } from "./bucket-tabs.ts";
import { DeploysTab } from "./deploys/deploys-tab.tsx";
import { ChangePanel } from "./files/changes.tsx";
import { Folder } from "./files/folder.tsx";
import { currentView } from "./files/view.ts";
import { LinksTab } from "./links/links-tab.tsx";
import { Badges, Breadcrumbs, OpenSite, type Totals, totalsText } from "./parts.tsx";
import { nameOf } from "./path.ts";
import { SettingsTab } from "./settings-tab.tsx";
import { TrashTab } from "./trash-tab.tsx";
import type { DropContents } from "./uploads/drop.ts";
import { UploadPanel } from "./uploads/upload-panel.tsx";
import { Chooser, runOrShowError, useDrop, useUpload } from "./uploads/use-upload.tsx";
import "./buckets.css";
import "./files/files.css";
import "./files/tiles.css";
import "./preview/preview.css";
import "./uploads/uploads.css";

// Uploads and changes continue when this page is left.
addOverlay(UploadPanel);
addOverlay(ChangePanel);

export default function BucketsPage() {
  const [name = ""] = route.value.rest;
  return name === "" ? <BucketList /> : <BucketPage key={name} name={name} />;
}

/** One bucket: its files, and a tab for each of the other things that the token may see or do. */
function BucketPage({ name }: { readonly name: string }) {
  const session = useSession();
  const opened = useLoad(
    async (signal): Promise<OpenBucket> => {
      const { client, rights } = session;
      const bucket = rights.may("static-bucket_read", name)
        ? await client.call("static-bucket_read", { name }, { signal })
        : undefined;
      const site =
        bucket !== undefined || !rights.may("static-bucket_site", name)
          ? bucket && siteOf(bucket)
          : await client.call("static-bucket_site", { name }, { signal });
      if (bucket === null || site === null) throw new Error(t.buckets.noBucket(name));
      return { name, bucket, site, access: await openAccess(session, name, site) };
    },
    [session, name],
  );
  const tabs = bucketTabs(session.rights, name);
  const [, tabName = "files"] = route.value.rest;
  const current = tabs.find((tab) => tab.name === tabName);
  const isFiles = tabName === "files";
  const path = isFiles ? currentView().path : "";
  const [totals, setTotals] = useState<Totals>();
  return (
    <Page
      title={visibleText(path === "" ? name : nameOf(path))}
      heading={<FileName name={path === "" ? name : nameOf(path)} />}
      path={<Breadcrumbs bucket={name} path={path} />}
      summary={isFiles && totals !== undefined && <p class="muted">{totalsText(totals)}</p>}
      tall={isFiles}
      actions={
        opened.value !== undefined && (
          <>
            <Badges {...opened.value} />
            <OpenSite {...opened.value} />
          </>
        )
      }
    >
      {tabs.length > 1 && (
        <TabLinks
          label={t.bucketTabs.tabs(name)}
          tabs={tabs.map((tab) => ({
            label: tab.title,
            href: linkToTab(name, tab.name),
            current: tab === current,
          }))}
        />
      )}
      {current === undefined && <p class="notice">{t.bucketTabs.mayNot}</p>}
      <WhenLoaded of={opened} rows={8}>
        {(bucket) =>
          current !== undefined && (
            <Tab tab={current.name} openBucket={bucket} onChange={opened.reload} onTotals={setTotals} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface TabProps {
  readonly tab: TabName;
  readonly openBucket: OpenBucket;
  /** Called when the record of the bucket has changed. */
  readonly onChange: () => void;
  /** Called with what the shown folder contains, and with undefined while that is not known. */
  readonly onTotals: (totals: Totals | undefined) => void;
}

function Tab({ tab, openBucket, onChange, onTotals }: TabProps) {
  const { name, bucket } = openBucket;
  switch (tab) {
    case "files":
      return <FilesTab openBucket={openBucket} onChange={onChange} onTotals={onTotals} />;
    case "deploys":
      return <DeploysTab name={name} />;
    case "links":
      return <LinksTab openBucket={openBucket} onChange={onChange} />;
    case "trash":
      return <TrashTab name={name} />;
    case "settings":
      return bucket === undefined ? null : <SettingsTab bucket={bucket} onChange={onChange} />;
  }
}

function FilesTab({ openBucket, onChange, onTotals }: Omit<TabProps, "tab">) {
  const view = currentView();
  const { rights } = useSession();
  const { name, site, access } = openBucket;
  const changes = useFollow(name, view.path);
  if (!access.mayList)
    return site?.enable !== false && rights.inBucket(name, { static_bucket_file: "write" }) ? (
      <UploadOnly name={name} />
    ) : (
      <p class="notice">{t.buckets.mayNotList}</p>
    );
  return (
    <Folder
      key={JSON.stringify([view.path, view.entry])}
      openBucket={openBucket}
      view={view}
      changes={changes}
      onBucketChange={onChange}
      onTotals={onTotals}
    />
  );
}

/** Uploads of a token that may write files and not list them. */
function UploadOnly({ name }: { readonly name: string }) {
  const { client } = useSession();
  const { start, question } = useUpload();
  const upload = (dropped: DropContents) =>
    start({ bucket: name, files: client.bucket(name), into: "", writeOnly: true }, dropped);
  const hovering = useDrop((dropped) => runOrShowError(dropped.then(upload)));
  return (
    <>
      <div class="files-bar">
        <div class="files-tools">
          <Chooser label={t.files.uploadFiles} kind="primary" multiple onChoose={upload} />
          <Chooser label={t.files.uploadFolder} folders onChoose={upload} />
        </div>
      </div>
      <p class="notice">{t.files.uploadOnly}</p>
      {hovering !== undefined && (
        <p class="files-drop whole" role="status">
          {t.files.dropInto(visibleText(name))}
        </p>
      )}
      {question}
    </>
  );
}

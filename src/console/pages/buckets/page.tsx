import { Fragment } from "preact";
import { addOverlay } from "../../overlays.tsx";
import { route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { FileName } from "../../ui/visible-text.tsx";
import { type OpenBucket, openAccess } from "./bucket-access.ts";
import { Folder } from "./files/folder.tsx";
import { currentView, linkToPath } from "./files/folder-view.ts";
import { BucketList } from "./list/bucket-list.tsx";
import { Badges } from "./list/bucket-row.tsx";
import { join, splitPath } from "./path.ts";
import { UploadPanel } from "./uploads/upload-panel.tsx";

// Uploads continue when this page is left.
addOverlay(UploadPanel);

export default function BucketsPage() {
  const [name = ""] = route.value.rest;
  return name === "" ? <BucketList /> : <FilesPage key={name} name={name} />;
}

/** Files of one bucket. */
function FilesPage({ name }: { readonly name: string }) {
  const session = useSession();
  const { value, error, reload } = useLoad(
    async (signal): Promise<OpenBucket> => {
      const { client, rights } = session;
      const bucket = rights.inBucket(name, { static_bucket: "read" })
        ? await client.call("static-bucket_read", { name }, { signal })
        : undefined;
      if (bucket === null)
        throw new Error(`There is no bucket ${name}. It may have been deleted or renamed.`);
      return { name, bucket, access: await openAccess(session, name, bucket) };
    },
    [session, name],
  );
  const view = currentView();
  return (
    <Page title={name} tall actions={value !== undefined && <Badges bucket={value.bucket} />}>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Opening the bucket…</p>}
      {value !== undefined && !value.access.mayList && (
        <p class="notice">
          This token may not list the files of this bucket: it needs StaticBucketFile::List on it.
        </p>
      )}
      {value?.access.mayList && (
        // The key removes a focused breadcrumb with its folder, so that the new list takes the focus.
        <Fragment key={view.path}>
          <Breadcrumbs bucket={name} path={view.path} />
          <Folder openBucket={value} view={view} />
        </Fragment>
      )}
    </Page>
  );
}

function Breadcrumbs({ bucket, path }: { readonly bucket: string; readonly path: string }) {
  const names = splitPath(path);
  const steps = [
    { name: bucket, path: "" },
    ...names.map((name, index) => ({ name, path: join(...names.slice(0, index + 1)) })),
  ];
  return (
    <nav aria-label="Folders" class="files-crumbs">
      <a href="#/buckets">Buckets</a>
      {steps.map((step, index) => (
        <span key={step.path}>
          <span aria-hidden="true" class="muted">
            /
          </span>
          <a
            href={linkToPath(bucket, step.path)}
            aria-current={index === steps.length - 1 ? "page" : undefined}
          >
            <FileName name={step.name} />
          </a>
        </span>
      ))}
    </nav>
  );
}

import {
  type Bucket,
  type BucketSite,
  InvalidInput,
  type NodeServerClient,
  type PublishedDeploy,
} from "../../../client/index.ts";
import { serverUrl } from "../../connection.ts";
import { bytes } from "../../format.ts";
import { go } from "../../route.ts";
import { t } from "../../text/text.ts";
import { act } from "../../ui/call.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { Icon } from "../../ui/icons.tsx";
import { MoreMenu } from "../../ui/more-menu.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { Entry } from "./files/model.ts";
import { dropClass, dropEvents, linkToPath } from "./files/view.ts";
import { join, publicUrl, splitPath } from "./path.ts";

interface BadgesProps {
  readonly site: BucketSite | null | undefined;
  readonly bucket: Bucket | null | undefined;
}

/** Whether a bucket is public, private, off, or the HTTP root. */
export function Badges({ site, bucket }: BadgesProps) {
  if (site === null) return <span class="badge warn">{t.buckets.missing}</span>;
  if (site === undefined) return null;
  return (
    <>
      {site.public ? (
        <span class="badge">{t.buckets.public}</span>
      ) : (
        <span class="badge accent">{t.buckets.private}</span>
      )}
      {site.is_http_root && <span class="badge accent">{t.buckets.httpRoot}</span>}
      {bucket?.cors && <span class="badge">{t.buckets.cors}</span>}
      {!site.enable && <span class="badge warn">{t.buckets.off}</span>}
    </>
  );
}

interface Site {
  readonly name: string;
  readonly site: BucketSite | null | undefined;
}

/**
 * Address of the site of a bucket; undefined when a browser could not open it: it is off, or private without a host name at which
 * browsers can sign in.
 */
export function siteUrl({ name, site }: Site): string | undefined {
  if (site == null || !site.enable) return undefined;
  if (!site.public && site.hosts.length === 0) return undefined;
  return publicUrl(serverUrl, { name, site, path: "" });
}

/** Address without what all addresses of this server have in common. */
export function shortAddress(url: string): string {
  return url.startsWith(`${serverUrl}/`)
    ? url.slice(serverUrl.length)
    : url.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** Button that opens the site in a new tab. */
export function OpenSite(site: Site) {
  const url = siteUrl(site);
  if (url === undefined) return null;
  return (
    <a class="button" href={url} target="_blank" rel="noopener noreferrer">
      <Icon name="external" />
      <span>{t.buckets.openSite}</span>
    </a>
  );
}

export type SiteProblem = PublishedDeploy["problems"][number];

/** Lines of `_headers` and `_redirects` that do not do what their author wants. */
export function SiteProblemList({ problems }: { readonly problems: readonly SiteProblem[] }) {
  return (
    <ul class="site-problems">
      {problems.map(({ file, line, level, why }) => (
        <li key={`${file} ${line} ${why}`}>
          <span class={level === "error" ? "badge bad" : "badge warn"}>
            {level === "error" ? t.bucketTabs.error : t.bucketTabs.warning}
          </span>
          <span class="mono">{line === 0 ? file : `${file}:${line}`}</span>
          <span>{why}</span>
        </li>
      ))}
    </ul>
  );
}

/** Asks, and deletes the record of a bucket. */
export function deleteBucket(
  client: NodeServerClient,
  { name, path }: { readonly name: string; readonly path: string },
  after: () => void,
): Promise<boolean> {
  return act({
    ask: {
      title: t.buckets.deleteQuestion(name),
      text: t.buckets.deleteText(path),
      action: t.buckets.deleteBucket,
      danger: true,
    },
    run: () => client.call("static-bucket_delete", { name }),
    done: t.buckets.deleted(name),
    after,
  });
}

/**
 * Asks whether the HTTP root is taken from the bucket that has it. False when it is refused, and when the error is about
 * something else.
 */
export async function mayMoveRoot(error: unknown, name: string): Promise<boolean> {
  const root = otherRoot(error);
  if (root === undefined) return false;
  return confirm({
    title: t.bucketTabs.moveRootQuestion(name),
    text: t.bucketTabs.moveRootText(root, name, serverUrl),
    action: t.bucketTabs.moveRoot,
  });
}

/** Name of the bucket that is the HTTP root, if a refusal is about that. */
export function otherRoot(error: unknown): string | undefined {
  if (!(error instanceof InvalidInput) || error.data.field !== "is_http_root") return undefined;
  const { bucket } = error.data;
  return typeof bucket === "string" ? bucket : undefined;
}

/** More folders above the shown one are shortened in the middle. */
const maxShown = 3;

interface BreadcrumbsProps {
  readonly bucket: string;
  /** Path of the shown folder, whose name is the heading after these. */
  readonly path: string;
}

/** Links to the list of buckets and to the folders above the shown one. Entries of the list can be dropped on them. */
export function Breadcrumbs({ bucket, path }: BreadcrumbsProps) {
  const names = splitPath(path);
  const above = names.map((_, depth) => ({
    name: depth === 0 ? bucket : (names[depth - 1] ?? ""),
    path: join(...names.slice(0, depth)),
  }));
  const isLong = above.length > maxShown;
  const hidden = isLong ? above.slice(1, -1) : [];
  return (
    <nav aria-label={t.buckets.folders} class="crumbs">
      <span>
        <a href="#/buckets">{t.buckets.buckets}</a>
        <Slash />
      </span>
      {(isLong ? above.slice(0, 1) : above).map((crumb) => (
        <Crumb key={crumb.path} bucket={bucket} {...crumb} />
      ))}
      {hidden.length > 0 && (
        <span>
          <MoreMenu
            label={t.files.foldersBetween}
            items={hidden.map(({ name, path }) => ({
              label: visibleText(name),
              icon: "folder",
              onSelect: () => go(linkToPath(bucket, path)),
            }))}
          />
          <Slash />
        </span>
      )}
      {isLong && above.slice(-1).map((crumb) => <Crumb key={crumb.path} bucket={bucket} {...crumb} />)}
    </nav>
  );
}

function Crumb({ bucket, name, path }: BreadcrumbsProps & { readonly name: string }) {
  return (
    <span>
      <a
        href={linkToPath(bucket, path)}
        title={visibleText(name)}
        class={dropClass(path)}
        draggable={false}
        {...dropEvents(path)}
      >
        <FileName name={name} />
      </a>
      <Slash />
    </span>
  );
}

function Slash() {
  return (
    <span aria-hidden="true" class="muted">
      /
    </span>
  );
}

/** What is directly in a folder. The content of its folders is not counted. */
export interface Totals {
  readonly folders: number;
  readonly files: number;
  /** Of the files, in bytes. */
  readonly size: number;
}

export function totalsOf(entries: readonly Entry[]): Totals {
  const files = entries.filter(({ folder }) => !folder);
  return {
    folders: entries.length - files.length,
    files: files.length,
    size: files.reduce((sum, { size = 0 }) => sum + size, 0),
  };
}

/** `2 folders, 5 files, 1.2 MB`. */
export function totalsText({ folders, files, size }: Totals): string {
  const parts = [
    ...(folders > 0 ? [t.files.countFolders(folders)] : []),
    ...(files > 0 || folders === 0 ? [t.frame.countFiles(files)] : []),
    ...(files > 0 ? [bytes(size)] : []),
  ];
  return parts.reduce((before, part) => t.files.totals(before, part));
}

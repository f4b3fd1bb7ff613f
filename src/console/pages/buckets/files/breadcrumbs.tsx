import { bytes } from "../../../format.ts";
import { go } from "../../../route.ts";
import { t } from "../../../text/text.ts";
import { MoreMenu } from "../../../ui/more-menu.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import { join, splitPath } from "../path.ts";
import type { Entry } from "./model.ts";
import { dropClass, dropEvents, linkToPath } from "./view.ts";

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

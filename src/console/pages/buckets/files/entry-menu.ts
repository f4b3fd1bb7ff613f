import { type Session, serverUrl } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { toClipboard } from "../../../ui/copy.tsx";
import type { MenuItem } from "../../../ui/more-menu.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { mayCopyUrl, type OpenBucket } from "../bucket-access.ts";
import { linkKindsTo } from "../links/link-form.tsx";
import { join, publicUrl } from "../path.ts";
import { type DownloadSelection, download, downloadRefusal } from "../preview/download.tsx";
import type { Entry } from "./entries.ts";

/** Changes that the folder can make to the selected entries. */
export interface EntryActions {
  readonly onOpen: (entry: Entry) => void;
  readonly onRename: () => void;
  readonly onMove: () => void;
  readonly onCopy: () => void;
  /** Undefined where entries are in several folders. */
  readonly onDuplicate: (() => void) | undefined;
  readonly onDelete: () => void;
  /** Makes a link to one entry. */
  readonly onShare: () => void;
  /** Shows the entry in its folder; undefined where that is what is shown. */
  readonly onShow: ((entry: Entry) => void) | undefined;
}

/** Address of an entry over plain HTTP. */
export function urlOf({ name, bucket }: OpenBucket, path: string, entry: Entry): string {
  return `${publicUrl(serverUrl, { name, bucket, path: join(path, entry.name) })}${entry.folder ? "/" : ""}`;
}

/** Actions that have no button in the toolbar: copies, and a link for others. */
export function furtherItems(
  { rights }: Session,
  { name, access }: OpenBucket,
  entries: readonly Entry[],
  { onCopy, onDuplicate, onShare }: EntryActions,
): MenuItem[] {
  const items: MenuItem[] = [];
  if (access.files !== undefined) items.push({ label: t.files.copyTo, icon: "copy", onSelect: onCopy });
  if (access.files !== undefined && onDuplicate !== undefined)
    items.push({ label: t.files.duplicate, icon: "plus", onSelect: onDuplicate });
  const alone = entries.length === 1 ? entries[0] : undefined;
  if (alone !== undefined && linkKindsTo(rights, name, alone).length > 0)
    items.push({ label: t.files.shareLink, icon: "globe", onSelect: onShare });
  return items;
}

/** All actions for the selected entries. */
export function entryMenu(
  session: Session,
  openBucket: OpenBucket,
  chosen: DownloadSelection & { readonly entries: readonly Entry[] },
  actions: EntryActions,
): MenuItem[] {
  const { access } = openBucket;
  const alone = chosen.entries.length === 1 ? chosen.entries[0] : undefined;
  const items: MenuItem[] = [];
  const { onOpen, onShow } = actions;
  if (alone !== undefined)
    items.push({
      label: t.files.open,
      icon: alone.folder ? "folder" : "file",
      onSelect: () => onOpen(alone),
    });
  if (alone !== undefined && onShow !== undefined)
    items.push({ label: t.files.showInFolder, icon: "folder", onSelect: () => onShow(alone) });
  if (access.mayRead || access.readers === "anybody") {
    const refusal = downloadRefusal(openBucket, chosen);
    items.push({
      label: alone?.folder === false ? t.files.download : t.files.downloadZip,
      icon: "download",
      disabled: refusal !== undefined,
      title: refusal,
      onSelect: () => download(session, openBucket, chosen),
    });
  }
  if (alone !== undefined && mayCopyUrl(openBucket))
    items.push({
      label: t.frame.copyUrl,
      icon: "link",
      onSelect: async () => {
        await toClipboard(urlOf(openBucket, chosen.folder, alone));
        toast(t.frame.copied);
      },
    });
  const further = furtherItems(session, openBucket, chosen.entries, actions);
  if (access.files === undefined) return [...items, ...further];
  if (alone !== undefined) items.push({ label: t.files.rename, icon: "edit", onSelect: actions.onRename });
  items.push({ label: t.files.moveTo, icon: "moveTo", onSelect: actions.onMove }, ...further, {
    label: t.frame.delete,
    icon: "trash",
    danger: true,
    onSelect: actions.onDelete,
  });
  return items;
}

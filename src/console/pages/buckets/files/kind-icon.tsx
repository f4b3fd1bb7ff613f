import { useState } from "preact/hooks";
import { serverUrl } from "../../../session.ts";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { join, publicUrl } from "../path.ts";
import { type Kind, kindOf } from "../preview/file-kind.ts";
import type { Entry } from "./entries.ts";
import { useThumbnail } from "./thumbnail.ts";

/** Larger pictures have an icon: a list of them would load as many megabytes. */
const maxIconBytes = 300_000;
/** Few tiles are in view at a time, and showing pictures is what they are for. */
const maxTileBytes = 2_000_000;

const icons: Readonly<Record<Kind["as"], IconName>> = {
  image: "picture",
  audio: "sound",
  video: "video",
  pdf: "document",
  markdown: "document",
  table: "table",
  text: "file",
  archive: "archive",
  binary: "file",
  unknown: "file",
};

interface KindIconProps {
  readonly entry: Entry;
  readonly openBucket: OpenBucket;
  /** Folder of the entry. */
  readonly path: string;
}

/** Icon that says what a file is, or a small picture itself, if its bucket is public. Only rows in view load theirs. */
export function KindIcon({ entry, openBucket, path }: KindIconProps) {
  const [broken, setBroken] = useState(false);
  const isShown = isPicture(entry, maxIconBytes) && !broken && openBucket.access.readers === "anybody";
  return isShown ? (
    <Thumbnail
      address={publicUrl(serverUrl, { name: openBucket.name, path: join(path, entry.name) })}
      onBroken={() => setBroken(true)}
    />
  ) : (
    <KindMark entry={entry} />
  );
}

/** Picture of a tile: that of an image, also in a private bucket, or a large icon. Only tiles in view load theirs. */
export function KindPicture({ entry, openBucket, path }: KindIconProps) {
  const [broken, setBroken] = useState(false);
  const isShown = isPicture(entry, maxTileBytes) && !broken;
  const address = useThumbnail(openBucket, join(path, entry.name), isShown);
  return (
    <span class="files-picture">
      {isShown && address !== undefined ? (
        <Thumbnail address={address} onBroken={() => setBroken(true)} />
      ) : (
        <KindMark entry={entry} />
      )}
    </span>
  );
}

function isPicture({ name, folder, size = 0 }: Entry, maxBytes: number): boolean {
  return !folder && kindOf(name).as === "image" && size > 0 && size <= maxBytes;
}

interface ThumbnailProps {
  readonly address: string;
  readonly onBroken: () => void;
}

function Thumbnail({ address, onBroken }: ThumbnailProps) {
  return (
    <img
      class="files-thumbnail"
      src={address}
      alt=""
      draggable={false}
      loading="lazy"
      decoding="async"
      onError={onBroken}
    />
  );
}

function KindMark({ entry: { name, folder } }: { readonly entry: Entry }) {
  const kind = kindOf(name);
  const isCode = kind.as === "text" && kind.language !== "";
  const [mark, icon]: readonly [string, IconName] = folder
    ? ["folder", "folder"]
    : isCode
      ? ["code", "api"]
      : [kind.as, icons[kind.as]];
  return (
    <span class={`files-kind ${mark}`}>
      <Icon name={icon} />
    </span>
  );
}

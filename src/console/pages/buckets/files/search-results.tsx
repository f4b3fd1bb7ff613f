import { useEffect, useState } from "preact/hooks";
import { ago, bytes, number, time } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { nameOf, parentOf } from "../path.ts";
import { linkToPath } from "./folder-view.ts";
import { KindIcon } from "./kind-icon.tsx";

const rowHeight = 40;
const maxResults = 500;
/** Pause in typing after which the server is asked. */
const typingMs = 250;

export interface SearchResultsProps {
  readonly openBucket: OpenBucket;
  /** Words that the paths contain. Not empty. */
  readonly query: string;
}

/** Files and folders of the whole bucket whose path contains all words. */
export function SearchResults({ openBucket, query }: SearchResultsProps) {
  const { client } = useSession();
  const { name } = openBucket;
  const wanted = useSettled(query);
  const { value, error, loading, reload } = useLoad(
    (signal) =>
      client.call("static-bucket-file_search", { name, query: wanted, limit: maxResults }, { signal }),
    [name, wanted],
  );
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (value === undefined) return <Skeleton rows={8} />;
  const { entries, more, complete } = value;
  return (
    <div class="table-box files-box" aria-busy={loading || wanted !== query}>
      {entries.length === 0 ? (
        <p class="empty">{t.files.nothingFound(visibleText(wanted))}</p>
      ) : (
        <VirtualRows
          label={t.files.found}
          class="files-rows"
          count={entries.length}
          rowHeight={rowHeight}
          row={(at) => {
            const found = entries[at];
            return found === undefined ? null : (
              <FoundRow key={found.path} found={found} openBucket={openBucket} />
            );
          }}
        />
      )}
      <div class="files-totals muted" role="status">
        {t.frame.countItems(entries.length)}
        {!complete
          ? ` · ${t.files.searchIncomplete}`
          : more
            ? ` · ${t.files.searchMore(number(maxResults))}`
            : ""}
      </div>
    </div>
  );
}

interface Found {
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly mtime: number;
}

function FoundRow({ found, openBucket }: { readonly found: Found; readonly openBucket: OpenBucket }) {
  const { path, kind, size, mtime } = found;
  const [folder, name, isFolder] = [parentOf(path), nameOf(path), kind === "folder"];
  const entry = { name, folder: isFolder, size: isFolder ? undefined : size, changed: mtime };
  const link = isFolder ? linkToPath(openBucket.name, path) : linkToPath(openBucket.name, folder, name);
  return (
    <li class="files-row files-found">
      <span class="files-name">
        <KindIcon entry={entry} openBucket={openBucket} path={folder} />
        <a href={link} title={visibleText(path)}>
          <FileName name={path} />
          {isFolder && <span class="unseen"> {t.files.isFolder}</span>}
        </a>
      </span>
      <span class="files-size">{isFolder ? "" : bytes(size)}</span>
      <span class="files-changed" title={time(mtime)}>
        {ago(mtime)}
      </span>
    </li>
  );
}

/** The text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

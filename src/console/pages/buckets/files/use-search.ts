import { useEffect, useMemo, useState } from "preact/hooks";
import { number } from "../../../format.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/call.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Entry } from "./entries.ts";

const maxResults = 500;
/** Pause in typing after which the server is asked. */
const typingMs = 250;

interface Search {
  /** Found files and folders, with their paths in the bucket as names; undefined until the server has answered. */
  readonly entries: readonly Entry[] | undefined;
  readonly error: unknown;
  /** Whether the entries are still those of an earlier query. */
  readonly isBusy: boolean;
  /** How many were found, and whether there are more. */
  readonly summary: string;
  /** Says that there are none. */
  readonly emptyText: string;
  readonly reload: () => void;
}

/** Searches the whole bucket for paths that contain all words of a query. An empty query finds nothing. */
export function useSearch(bucket: string, query: string): Search {
  const { client } = useSession();
  const wanted = useSettled(query);
  const { value, error, loading, reload } = useLoad(
    async (signal) =>
      wanted === ""
        ? undefined
        : client.call(
            "static-bucket-file_search",
            { name: bucket, query: wanted, limit: maxResults },
            { signal },
          ),
    [bucket, wanted],
  );
  const entries = useMemo(
    () =>
      value?.entries.map(({ path, kind, size, mtime }) => {
        const folder = kind === "folder";
        return { name: path, folder, size: folder ? undefined : size, changed: mtime };
      }),
    [value],
  );
  const more = !value?.complete
    ? ` · ${t.files.searchIncomplete}`
    : value.more
      ? ` · ${t.files.searchMore(number(maxResults))}`
      : "";
  return {
    entries,
    error,
    isBusy: loading || wanted !== query,
    summary: t.frame.countItems(entries?.length ?? 0) + more,
    emptyText: t.files.nothingFound(visibleText(wanted)),
    reload,
  };
}

/** The text once it has not changed for a moment. A text after none is taken at once. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settled === "" ? 0 : typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

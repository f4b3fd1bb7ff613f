import { eventOf, type LogEntry, type NodeServerClient, patterns } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

/** Problem with the tag of a release; undefined when it is valid. */
export function tagProblem(text: string): string | undefined {
  return patterns.releaseTag.test(text) ? undefined : t.update.badTag;
}

/** How far an update is, as far as the log tells. */
export type Progress =
  | { readonly stage: "downloading"; readonly bytes: number; readonly total: number | undefined }
  | { readonly stage: "trying" }
  | { readonly stage: "in place" }
  /** `code` is `data.reason` of the server's error, where it has one. */
  | { readonly stage: "failed"; readonly why: string; readonly code: string | undefined };

/** What a log entry says about the update to `tag`; undefined when it is about something else. */
export function progressIn(entry: LogEntry, tag: string): Progress | undefined {
  const event = eventOf(entry);
  if (event === undefined || !("tag" in event) || event.tag !== tag) return undefined;
  switch (event.event) {
    case "update.downloading":
      return { stage: "downloading", bytes: event.bytes ?? 0, total: event.total };
    case "update.testing":
      return { stage: "trying" };
    case "update.installed":
      return { stage: "in place" };
    case "update.failed":
      return { stage: "failed", why: event.reason, code: event.code };
    default:
      return undefined;
  }
}

/** Longest wait for the stream. A proxy may block WebSockets; the update must not depend on them. */
const connectMs = 5000;

interface LogWatch {
  /** Final progress in the log; undefined when the log cannot be followed. */
  readonly end: Promise<Progress | undefined>;
  readonly stop: () => void;
}

/** Reports the progress of the update to `tag` from the log. Resolves once the stream is open or has failed. */
export async function watchLog(
  client: NodeServerClient,
  tag: string,
  onProgress: (progress: Progress) => void,
): Promise<LogWatch> {
  const stop = new AbortController();
  const connected = Promise.withResolvers<void>();
  const end = Promise.withResolvers<Progress | undefined>();
  const read = async () => {
    const stream = client.subscribe(
      "node-server_stream_log",
      { log_filter: "server=info" },
      { signal: stop.signal, onConnect: () => connected.resolve() },
    );
    for await (const entry of stream) {
      const progress = progressIn(entry, tag);
      if (progress === undefined) continue;
      onProgress(progress);
      if (progress.stage === "in place" || progress.stage === "failed") end.resolve(progress);
    }
  };
  // The update continues without the log; only its progress is not shown.
  read().catch(() => {
    connected.resolve();
    end.resolve(undefined);
  });
  await Promise.race([connected.promise, new Promise((done) => setTimeout(done, connectMs))]);
  return { end: end.promise, stop: () => stop.abort() };
}

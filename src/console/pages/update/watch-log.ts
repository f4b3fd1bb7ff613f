import type { NodeServerClient } from "../../../client/index.ts";
import { type Progress, progressIn } from "./progress.ts";

/** A proxy may let no WebSocket through; the update must not wait for it. */
const connectMs = 5000;

export interface LogWatch {
  /** The last that the log says about the update; undefined where the log cannot be followed. */
  readonly end: Promise<Progress | undefined>;
  readonly stop: () => void;
}

/** Tells what the log says about the update to `tag`, from now on. Resolves once it listens, or cannot. */
export async function watchLog(
  client: NodeServerClient,
  tag: string,
  tell: (progress: Progress) => void,
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
      tell(progress);
      if (progress.stage === "in place" || progress.stage === "failed") end.resolve(progress);
    }
  };
  // Without the log the update goes on all the same; only its progress is not seen.
  read().catch(() => {
    connected.resolve();
    end.resolve(undefined);
  });
  await Promise.race([connected.promise, new Promise((done) => setTimeout(done, connectMs))]);
  return { end: end.promise, stop: () => stop.abort() };
}

import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { type CopyJob, type CopySummary, copyFiles, newSummary } from "./engine.ts";
import { BucketReader, contentOf, foldersOf, type RemoteFile } from "./remote-tree.ts";

/** BucketAt is a bucket of a server. */
interface BucketAt {
  readonly client: NodeServerClient;
  readonly bucket: string;
}

/** Relay is a copy of files from one bucket to another, which may be on another server. */
export interface Relay {
  readonly from: BucketAt;
  readonly to: BucketAt;
  readonly files: readonly (RemoteFile & { readonly path: string })[];
  /** Returns the path of the copy of a file. */
  readonly pathOf?: (path: string) => string;
}

/** relayFiles copies files through this machine, with their times. */
export async function relayFiles(
  ctx: Context,
  { from, to, files, pathOf = (path) => path }: Relay,
  signal: AbortSignal,
): Promise<CopySummary> {
  const [source, target] = [new BucketReader(from.client, from.bucket), to.client.bucket(to.bucket)];
  const job = {
    what: "copying",
    phases: [files],
    folders: { of: target, paths: foldersOf(files.map(({ path }) => pathOf(path))) },
    async copy({ path, mtime, size }, { meter, retry }, signal) {
      const modified = new Date(mtime);
      await retry.attempt(signal, () =>
        target.upload(pathOf(path), contentOf(source, path, signal), { signal, modified }),
      );
      meter.add(size);
      return size;
    },
  } satisfies CopyJob<Relay["files"][number]>;
  return copyFiles(ctx, job, newSummary(), signal);
}

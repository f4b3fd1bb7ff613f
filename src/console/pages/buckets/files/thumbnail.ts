import { useEffect, useState } from "preact/hooks";
import { serverUrl } from "../../../session.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { publicUrl } from "../path.ts";
import { kindOf } from "../preview/file-kind.ts";

/** Private pictures that are read at a time, so that other requests get through. */
const maxReads = 4;
let reads = 0;
const waiting: (() => void)[] = [];

/** Runs a read when fewer than `maxReads` are under way. One whose signal was aborted meanwhile is left out. */
async function inTurn<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T | undefined> {
  if (reads >= maxReads) await new Promise<void>((resolve) => waiting.push(resolve));
  if (signal.aborted) {
    waiting.shift()?.();
    return undefined;
  }
  reads += 1;
  try {
    return await read();
  } finally {
    reads -= 1;
    waiting.shift()?.();
  }
}

/**
 * Address of a picture for an `<img>`: the public one, or else a `blob:` of its content, which lives as long as the component.
 * Undefined while it is read, and if it cannot be.
 */
export function useThumbnail(
  { name, access }: OpenBucket,
  path: string,
  isWanted: boolean,
): string | undefined {
  const [blob, setBlob] = useState<string>();
  const isPublic = access.readers === "anybody";
  useEffect(() => {
    if (!isWanted || isPublic || !access.mayRead) return;
    const abort = new AbortController();
    let address: string | undefined;
    inTurn(abort.signal, () => access.read(path, abort.signal)).then(
      (content) => {
        const kind = kindOf(path);
        if (content === undefined || abort.signal.aborted || kind.as !== "image") return;
        address = URL.createObjectURL(new Blob([content.blob], { type: kind.type }));
        setBlob(address);
      },
      // The icon stays. Opening the file says what is wrong with it.
      () => undefined,
    );
    return () => {
      abort.abort();
      if (address !== undefined) URL.revokeObjectURL(address);
      setBlob(undefined);
    };
  }, [path, isWanted, isPublic]);
  return isPublic ? publicUrl(serverUrl, { name, path }) : blob;
}

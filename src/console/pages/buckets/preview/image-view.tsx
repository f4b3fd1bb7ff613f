import { useEffect, useState } from "preact/hooks";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import type { Entry } from "../files/entry.ts";
import type { Opened } from "../opened.ts";

export interface ImageViewProps {
  readonly opened: Opened;
  readonly path: string;
  readonly entry: Entry;
  readonly type: string;
}

/** Only ever as an image: an SVG runs no script there. */
export function ImageView({ opened, path, entry, type }: ImageViewProps) {
  const { value, error, reload } = useLoad(
    async (signal) => new Blob([(await opened.door.read(path, signal)).blob], { type }),
    [path],
  );
  const [address, setAddress] = useState<string>();
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    if (value === undefined) return;
    const made = URL.createObjectURL(value);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [value]);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (broken) return <p>This file cannot be shown: its content is no picture that the browser knows.</p>;
  if (address === undefined) return <p class="loading">Loading…</p>;
  return (
    <div class="files-image">
      <img src={address} alt={entry.name} onError={() => setBroken(true)} />
    </div>
  );
}

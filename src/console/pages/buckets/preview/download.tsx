import { serverUrl } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { save } from "../../../ui/save.ts";
import { publicUrl } from "../addresses.ts";
import type { Opened } from "../opened.ts";
import { nameOf } from "../path.ts";

/** From the public address, where the browser streams it to the disk; from a bucket that is off, through memory. */
export function DownloadButton({
  opened,
  paths,
  refusal,
}: {
  readonly opened: Opened;
  readonly paths: readonly string[];
  /** Why these cannot be downloaded: the button stays, and tells. */
  readonly refusal?: string | undefined;
}) {
  const { name, door } = opened;
  if (!door.mayRead && door.isPublic !== true) return null;
  const download = async () => {
    for (const path of paths) {
      if (door.isPublic) follow(publicUrl(serverUrl, name, false, path), nameOf(path));
      else save(nameOf(path), (await door.read(path)).blob);
    }
  };
  return (
    <Button icon="down" title={refusal ?? "Download"} disabled={refusal !== undefined} onClick={download}>
      Download
    </Button>
  );
}

function follow(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

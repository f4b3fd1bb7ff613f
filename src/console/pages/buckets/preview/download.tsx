import { serverUrl } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { save } from "../../../ui/save.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { nameOf, publicUrl } from "../path.ts";

/** Download button. Uses the public address, which the browser streams to disk; a bucket that is off is read into memory. */
export function DownloadButton({
  openBucket,
  paths,
  refusal,
}: {
  readonly openBucket: OpenBucket;
  readonly paths: readonly string[];
  /** Reason why the files cannot be downloaded. The button is then disabled and shows it as its tooltip. */
  readonly refusal?: string | undefined;
}) {
  const { name, access } = openBucket;
  if (!access.mayRead && access.isPublic !== true) return null;
  const download = async () => {
    for (const path of paths) {
      if (access.isPublic) follow(publicUrl(serverUrl, { bucket: name, isRoot: false, path }), nameOf(path));
      else save(nameOf(path), (await access.read(path)).blob);
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

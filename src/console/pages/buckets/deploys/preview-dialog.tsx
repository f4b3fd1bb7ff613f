import { time } from "../../../format.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { onHost } from "../path.ts";

export interface PreviewDialogProps {
  readonly name: string;
  /** Its id. */
  readonly deploy: string;
  readonly label: string;
  readonly onClose: () => void;
}

/** Address at which a deploy can be looked at. */
export function PreviewDialog({ name, deploy, label, onClose }: PreviewDialogProps) {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => client.call("static-bucket_deploy_preview", { name, deploy }, { signal }),
    [client, name, deploy],
  );
  const address = value && (value.host === null ? serverUrl : onHost(serverUrl, value.host)) + value.address;
  return (
    <Dialog title={t.bucketTabs.previewTitle(label)} onClose={onClose}>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton rows={2} />}
      {value !== undefined && address !== undefined && (
        <>
          <p class="dialog-text">{t.bucketTabs.previewText(time(value.expires))}</p>
          <div class="row command">
            <code>{address}</code>
            <CopyButton text={address} />
          </div>
          <footer>
            <Button onClick={onClose}>{t.frame.close}</Button>
            <a
              class="button primary"
              href={address}
              target="_blank"
              rel="noopener noreferrer"
              data-initial-focus
            >
              <Icon name="external" />
              <span>{t.bucketTabs.openPreview}</span>
            </a>
          </footer>
        </>
      )}
    </Dialog>
  );
}

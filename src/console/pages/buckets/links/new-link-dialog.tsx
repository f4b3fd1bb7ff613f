import { time } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";

/** A link that was just made. */
export interface NewLink {
  readonly address: string;
  readonly expires: number;
  /** Whether it is in the list and can be revoked alone. */
  readonly stored: boolean;
  readonly password: string;
}

/** Shows the address of a new link, which is shown only once. */
export function NewLinkDialog({ link, onClose }: { readonly link: NewLink; readonly onClose: () => void }) {
  const { address, expires, stored, password } = link;
  return (
    <Dialog title={t.bucketTabs.linkCreated} onClose={onClose}>
      <p class="dialog-text">{t.bucketTabs.linkOnce(time(expires))}</p>
      <div class="row command">
        <code>{address}</code>
        <CopyButton text={address} label={t.bucketTabs.copyLink} initialFocus />
      </div>
      {password !== "" && <p class="dialog-text">{t.bucketTabs.sendPassword}</p>}
      {!stored && <p class="hint">{t.bucketTabs.notStored}</p>}
      <footer>
        <Button onClick={onClose}>{t.frame.close}</Button>
      </footer>
    </Dialog>
  );
}

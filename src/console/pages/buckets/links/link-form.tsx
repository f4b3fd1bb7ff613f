import { useState } from "preact/hooks";
import type { StoredLink } from "../../../../client/index.ts";
import { time } from "../../../format.ts";
import type { Rights } from "../../../session/rights.ts";
import { serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Choice, Field, FormDialog, TextField, typed } from "../../../ui/form.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Entry } from "../files/model.ts";
import { nameOf } from "../path.ts";

type LinkKind = StoredLink["kind"];

/** Kinds of links that a token can make. */
export function linkKinds(rights: Rights, name: string): readonly LinkKind[] {
  const may = (action: "read" | "write" | "list") => rights.inBucket(name, { static_bucket_file: action });
  return [
    ...(may("read") ? (["download"] as const) : []),
    ...(may("read") && may("list") ? (["zip"] as const) : []),
    ...(may("write") ? (["upload"] as const) : []),
  ];
}

/** Kinds of links that a token can make to a file or a folder. */
export function linkKindsTo(
  rights: Rights,
  name: string,
  { folder }: Pick<Entry, "folder">,
): readonly LinkKind[] {
  return linkKinds(rights, name).filter((kind) => (kind === "download") !== folder);
}

const hour = 3600;
const day = 24 * hour;

interface MakeLinkProps {
  readonly name: string;
  /** At least one. */
  readonly kinds: readonly LinkKind[];
  /** The path that the link opens; if undefined, the person enters it. */
  readonly path?: string;
  readonly onClose: () => void;
  readonly onMade?: () => void;
}

/** Dialog that makes a link and then shows it. */
export function MakeLink({ onMade, ...form }: MakeLinkProps) {
  const [made, setMade] = useState<NewLink>();
  if (made !== undefined) return <NewLinkDialog link={made} onClose={form.onClose} />;
  return (
    <LinkForm
      {...form}
      onDone={(link) => {
        setMade(link);
        onMade?.();
      }}
    />
  );
}

interface LinkFormProps extends Omit<MakeLinkProps, "onMade"> {
  readonly onDone: (link: NewLink) => void;
}

function LinkForm({ name, kinds, path: given, onClose, onDone }: LinkFormProps) {
  const { client } = useSession();
  const [kind, setKind] = useState(kinds[0] ?? "download");
  const [path, setPath] = useState(given ?? "");
  const [seconds, setSeconds] = useState(7 * day);
  const [uses, setUses] = useState("");
  const [password, setPassword] = useState("");
  const [note, setNote] = useState("");
  const usesFault = uses !== "" && !/^[1-9]\d{0,5}$/.test(uses) ? t.bucketTabs.usesFault : undefined;
  const submit = async () => {
    const link = await client.call("static-bucket-file_link", {
      name,
      path: path.replace(/^\/+|\/+$/g, ""),
      expires_in: seconds,
      ...(uses === "" ? {} : { max_downloads: Number(uses) }),
      ...(password === "" ? {} : { password }),
      ...(note.trim() === "" ? {} : { note }),
      ...(kind === "upload" ? { upload: true } : {}),
      ...(kind === "zip" ? { zip: true } : {}),
    });
    onDone({
      address: serverUrl + link.address,
      expires: link.expires,
      stored: link.id !== undefined,
      password,
    });
  };
  return (
    <FormDialog
      title={given === undefined ? t.bucketTabs.newLink : t.bucketTabs.linkTo(visibleText(nameOf(given)))}
      action={t.bucketTabs.createLink}
      disabled={usesFault !== undefined || (kind === "download" && path === "")}
      onSubmit={submit}
      onClose={onClose}
    >
      {(kinds.length > 1 || given === undefined) && (
        <fieldset class="field">
          <legend>{t.bucketTabs.opens}</legend>
          {kinds.map((one) => (
            <Choice
              key={one}
              name="kind"
              label={titles()[one].label}
              hint={titles()[one].hint}
              checked={kind === one}
              onChoose={() => setKind(one)}
            />
          ))}
        </fieldset>
      )}
      {given === undefined && (
        <TextField
          label={kind === "download" ? t.bucketTabs.filePath : t.bucketTabs.folderPath}
          hint={kind === "zip" ? t.bucketTabs.zipPathHint : t.bucketTabs.pathHint}
          field="path"
          placeholder={kind === "download" ? "docs/report.pdf" : "docs"}
          value={path}
          onChange={setPath}
        />
      )}
      <Field label={t.bucketTabs.validFor}>
        <select value={String(seconds)} onChange={(event: Event) => setSeconds(Number(typed(event)))}>
          {[hour, day, 7 * day, 30 * day, 365 * day].map((choice) => (
            <option key={choice} value={String(choice)}>
              {choice === hour ? t.bucketTabs.oneHour : t.frame.countDays(choice / day)}
            </option>
          ))}
        </select>
      </Field>
      <TextField
        label={kind === "upload" ? t.bucketTabs.maxUploads : t.bucketTabs.maxDownloads}
        hint={t.bucketTabs.maxHint}
        error={usesFault}
        inputMode="numeric"
        value={uses}
        onChange={setUses}
      />
      <TextField
        label={t.frame.password}
        hint={t.bucketTabs.passwordHint}
        value={password}
        onChange={setPassword}
      />
      <TextField
        label={t.bucketTabs.note}
        hint={t.bucketTabs.noteHint}
        field="note"
        value={note}
        onChange={setNote}
      />
    </FormDialog>
  );
}

function titles(): Readonly<Record<LinkKind, { readonly label: string; readonly hint: string }>> {
  return {
    download: { label: t.bucketTabs.oneFile, hint: t.bucketTabs.oneFileHint },
    zip: { label: t.bucketTabs.folderZip, hint: t.bucketTabs.folderZipHint },
    upload: { label: t.bucketTabs.dropBox, hint: t.bucketTabs.dropBoxHint },
  };
}

/** A link that was just made. */
interface NewLink {
  readonly address: string;
  readonly expires: number;
  /** Whether it is in the list and can be revoked alone. */
  readonly stored: boolean;
  readonly password: string;
}

/** Shows the address of a new link, which is shown only once. */
function NewLinkDialog({ link, onClose }: { readonly link: NewLink; readonly onClose: () => void }) {
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

import { useState } from "preact/hooks";
import type { StoredLink } from "../../../../client/index.ts";
import { time } from "../../../format.ts";
import type { Rights } from "../../../session/rights.ts";
import { serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { act } from "../../../ui/call.tsx";
import { CopyButton, toClipboard } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Choice, Field, FieldProblem, FormDialog, TextField, typed } from "../../../ui/form.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import type { Entry } from "../files/model.ts";
import { join, nameOf, onHost, publicUrl } from "../path.ts";
import { PathPicker } from "../path-picker.tsx";

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
  readonly openBucket: OpenBucket;
  /** At least one. */
  readonly kinds: readonly LinkKind[];
  /** The path that the link opens; if undefined, the person chooses it. */
  readonly path?: string;
  readonly onClose: () => void;
  readonly onMade?: () => void;
  /** Called when the record of the bucket has changed. */
  readonly onBucketChange: () => void;
}

/** Dialog that makes a link, copies it and then shows it. */
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

function LinkForm({ openBucket, kinds, path: given, onClose, onDone, onBucketChange }: LinkFormProps) {
  const { client } = useSession();
  const { name, access } = openBucket;
  const [kind, setKind] = useState(kinds[0] ?? "download");
  const [place, setPlace] = useState<LinkPath>({ folder: "", name: "" });
  const [seconds, setSeconds] = useState(7 * day);
  const [uses, setUses] = useState("");
  const [password, setPassword] = useState("");
  const [note, setNote] = useState("");
  const [isPublic, setPublic] = useState(access.readers === "anybody");
  const path = given ?? join(place.folder, kind === "zip" ? "" : place.name.replace(/^\/+|\/+$/g, ""));
  const usesFault = uses !== "" && !/^[1-9]\d{0,5}$/.test(uses) ? t.bucketTabs.usesFault : undefined;
  // What is in the fields is kept while they are not shown.
  const protects = !isPublic || kind === "upload";
  const submit = async () => {
    const link = await client.call("static-bucket-file_link", {
      name,
      path,
      expires_in: seconds,
      ...(uses === "" || !protects ? {} : { max_downloads: Number(uses) }),
      ...(password === "" || !protects ? {} : { password }),
      ...(note.trim() === "" ? {} : { note }),
      ...(kind === "upload" ? { upload: true } : {}),
      ...(kind === "zip" ? { zip: true } : {}),
    });
    const server = link.host === undefined ? serverUrl : onHost(serverUrl, link.host);
    const address = server + link.address;
    const isCopied = await toClipboard(address).then(
      () => true,
      () => false,
    );
    onDone({ address, expires: link.expires, isCopied, password: protects ? password : "" });
  };
  return (
    <FormDialog
      title={given === undefined ? t.bucketTabs.newLink : t.bucketTabs.linkTo(visibleText(nameOf(given)))}
      action={t.bucketTabs.createLink}
      disabled={usesFault !== undefined || (kind === "download" && path === "")}
      onSubmit={submit}
      onClose={onClose}
    >
      {isPublic && (
        <PublicNotice
          openBucket={openBucket}
          kind={kind}
          path={path}
          onPrivate={() => {
            setPublic(false);
            onBucketChange();
          }}
        />
      )}
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
              onChoose={() => {
                setKind(one);
                setPlace({ ...place, name: "" });
              }}
            />
          ))}
        </fieldset>
      )}
      {given === undefined && (
        <LinkPathField openBucket={openBucket} kind={kind} place={place} onChange={setPlace} />
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
      {protects && (
        <>
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
        </>
      )}
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

/** Where a link leads: a folder, and in it a file, or a folder that is made when it is needed. */
interface LinkPath {
  readonly folder: string;
  readonly name: string;
}

interface LinkPathFieldProps {
  readonly openBucket: OpenBucket;
  readonly kind: LinkKind;
  readonly place: LinkPath;
  readonly onChange: (place: LinkPath) => void;
}

/** Chooses the file or the folder of a link. A token that may not list the files types the path. */
function LinkPathField({ openBucket, kind, place, onChange }: LinkPathFieldProps) {
  const { folder, name } = place;
  const isFile = kind === "download";
  const onName = (name: string) => onChange({ folder, name });
  if (!openBucket.access.mayList)
    return (
      <TextField
        label={isFile ? t.bucketTabs.filePath : t.bucketTabs.folderPath}
        hint={t.bucketTabs.pathHint}
        field="path"
        placeholder={isFile ? "docs/report.pdf" : "docs"}
        value={name}
        onChange={onName}
      />
    );
  return (
    <>
      <PathPicker
        openBucket={openBucket}
        path={folder}
        onPath={(folder) => onChange({ folder, name: isFile ? "" : name })}
        {...(isFile ? { file: name, onFile: onName } : {})}
      />
      <FieldProblem field="path" />
      {kind === "upload" && (
        <TextField
          label={t.files.newFolder}
          hint={t.bucketTabs.newFolderHint}
          value={name}
          onChange={onName}
        />
      )}
    </>
  );
}

interface PublicNoticeProps {
  readonly openBucket: OpenBucket;
  readonly kind: LinkKind;
  readonly path: string;
  readonly onPrivate: () => void;
}

/** Says that a link into a public bucket protects nothing, with the address at which everybody can read the file. */
function PublicNotice({ openBucket, kind, path, onPrivate }: PublicNoticeProps) {
  const { client, rights } = useSession();
  const { name, site } = openBucket;
  const url = publicUrl(serverUrl, { name, site, path });
  const makePrivate = () =>
    act({
      ask: {
        title: t.bucketTabs.makePrivateQuestion(name),
        text: t.bucketTabs.makePrivateText,
        action: t.bucketTabs.makePrivate,
      },
      run: () => client.call("static-bucket_update", { name, public: false }),
      done: t.bucketTabs.isPrivate(name),
      after: onPrivate,
    });
  return (
    <div class="notice links-public">
      <p>{kind === "upload" ? t.bucketTabs.publicDropBox : t.bucketTabs.publicFiles}</p>
      {kind === "download" && path !== "" && (
        <div class="row command">
          <code>{url}</code>
          <CopyButton icon="link" text={url} label={t.frame.copyUrl} />
        </div>
      )}
      {rights.may("static-bucket_update", name) && (
        <Button icon="lock" onClick={makePrivate}>
          {t.bucketTabs.makePrivate}
        </Button>
      )}
    </div>
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
  readonly isCopied: boolean;
  readonly password: string;
}

/** Shows the address of a new link, which is shown only once. */
function NewLinkDialog({ link, onClose }: { readonly link: NewLink; readonly onClose: () => void }) {
  const { address, expires, isCopied, password } = link;
  return (
    <Dialog title={isCopied ? t.bucketTabs.linkCopied : t.bucketTabs.linkCreated} onClose={onClose}>
      <p class="dialog-text">{(isCopied ? t.bucketTabs.linkKept : t.bucketTabs.linkOnce)(time(expires))}</p>
      <div class="row command">
        <code>{address}</code>
        <CopyButton text={address} label={t.bucketTabs.copyLink} initialFocus />
      </div>
      {password !== "" && <p class="dialog-text">{t.bucketTabs.sendPassword}</p>}
      <footer>
        <Button onClick={onClose}>{t.frame.close}</Button>
      </footer>
    </Dialog>
  );
}

import { useState } from "preact/hooks";
import { type Bucket, InvalidInput } from "../../../../client/index.ts";
import { serverUrl, useSession } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Check, Field, typed } from "../../../ui/field.tsx";
import { explain, Problem } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";

export interface BucketFormProps {
  /** Bucket to change; undefined to create one. */
  readonly bucket?: Bucket;
  /** Suggested name of a new bucket. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

/** Dialog that creates or changes a bucket. */
export function BucketForm({ bucket, name: given = "", onClose, onDone }: BucketFormProps) {
  const { client, rights } = useSession();
  const [name, setName] = useState(bucket?.name ?? given);
  const [path, setPath] = useState(bucket?.path ?? "");
  const [isRoot, setRoot] = useState(bucket?.is_http_root ?? false);
  const [cors, setCors] = useState(bucket?.cors ?? false);
  const [enable, setEnable] = useState(bucket?.enable ?? true);
  const [refusal, setRefusal] = useState<unknown>();
  const allowed = name === "" || rights.inBucket(name, { static_bucket: "write" });
  const field = refusal instanceof InvalidInput ? refusal.data.field : undefined;
  const faultOf = (which: string) => (field === which ? explain(refusal) : undefined);

  const submit = async () => {
    setRefusal(undefined);
    const settings = { name, is_http_root: isRoot, cors, ...(path === "" ? {} : { path }) };
    try {
      if (bucket === undefined) await client.call("static-bucket_create", settings);
      else await client.call("static-bucket_update", { ...settings, enable });
    } catch (error) {
      setRefusal(error);
      return;
    }
    toast(bucket === undefined ? `Bucket ${name} created.` : `Bucket ${name} saved.`);
    onDone(name);
  };

  return (
    <Dialog title={bucket === undefined ? "New bucket" : `Settings of ${bucket.name}`} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {bucket === undefined && (
          <Field
            label="Name"
            hint="Letters, digits and _ . - only. It is part of the address."
            error={
              allowed
                ? faultOf("name")
                : "This token may not create a bucket with this name: it needs StaticBucket::Write on it."
            }
          >
            <input
              type="text"
              value={name}
              autocomplete="off"
              spellcheck={false}
              onInput={(event: Event) => setName(typed(event))}
            />
          </Field>
        )}
        <Field
          label="Folder"
          hint={
            bucket === undefined
              ? "Below the server's static_path. Default: the name of the bucket."
              : "Below the server's static_path. Changing it moves no files; the bucket then shows the other folder."
          }
          error={faultOf("path")}
        >
          <input
            type="text"
            value={path}
            placeholder={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => setPath(typed(event))}
          />
        </Field>
        {bucket === undefined && <p class="notice">{publicNotice(name)}</p>}
        <Check
          label="HTTP root"
          hint={`Its files are also served at ${serverUrl}/. Only one bucket can be the HTTP root.`}
          checked={isRoot}
          onChange={setRoot}
        />
        {faultOf("is_http_root") !== undefined && <Problem error={refusal} />}
        {isRoot && !bucket?.is_http_root && (
          <p class="notice">
            Its pages will share this address with the console. Whoever can change its files can run scripts
            here in the browsers of all who visit, yours too: give write permission only to people you trust
            as much.
          </p>
        )}
        <Check
          label="CORS"
          hint="Pages of other sites may read its files with scripts."
          checked={cors}
          onChange={setCors}
        />
        {bucket !== undefined && (
          <Check
            label="On"
            hint="When off, its files are served neither over HTTP nor over WebDAV."
            checked={enable}
            onChange={setEnable}
          />
        )}
        {refusal !== undefined && field !== "name" && field !== "path" && field !== "is_http_root" && (
          <Problem error={refusal} />
        )}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={name === "" || !allowed} onClick={submit}>
            {bucket === undefined ? "Create" : "Save"}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Warning to show before the bucket is created, not after its first private file. */
function publicNotice(name: string): string {
  return `Anybody can read its files without a token, at ${serverUrl}/node/static/${name || "<name>"}/… Listing and changing them needs a token.`;
}

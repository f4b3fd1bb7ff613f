import { useSession } from "../../../session.ts";
import { useLoad } from "../../../ui/load.ts";
import { Page } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Badges } from "../list/bucket-row.tsx";
import type { Opened } from "../opened.ts";
import { openDoor } from "./door.ts";
import { Folder } from "./folder.tsx";
import { currentPlace } from "./place.ts";

/** The files of one bucket. */
export function FilesPage({ name }: { readonly name: string }) {
  const session = useSession();
  const { value, error, reload } = useLoad(
    async (signal): Promise<Opened> => {
      const { client, rights } = session;
      const bucket = rights.inBucket(name, { static_bucket: "read" })
        ? await client.call("static-bucket_read", { name }, { signal })
        : undefined;
      if (bucket === null)
        throw new Error(`There is no bucket ${name}. It may have been deleted or renamed.`);
      return { name, bucket, door: await openDoor(session, name, bucket) };
    },
    [session, name],
  );
  const place = currentPlace();
  return (
    <Page title={name} tall actions={value !== undefined && <Badges bucket={value.bucket} />}>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Opening the bucket…</p>}
      {value !== undefined && !value.door.mayList && (
        <p class="notice">
          This token may not list the files of this bucket: it needs StaticBucketFile::List on it.
        </p>
      )}
      {value?.door.mayList && <Folder key={place.path} opened={value} place={place} />}
    </Page>
  );
}

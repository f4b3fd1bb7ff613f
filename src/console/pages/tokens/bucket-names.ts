import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";

/** Bucket names to choose from. `complete` is true only for the Super Token, which can list all. */
export function useBucketNames(): { readonly names: readonly string[]; readonly complete: boolean } {
  const { client, rights } = useSession();
  const { value } = useLoad(
    async (signal) =>
      rights.may("static-bucket_list") ? await client.call("static-bucket_list", {}, { signal }) : undefined,
    [client],
  );
  return { names: value ?? rights.namedBuckets, complete: value !== undefined };
}

import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";

/** Names of buckets to choose from. Only the Super Token is told all of them. */
export function useBuckets(): { readonly names: readonly string[]; readonly complete: boolean } {
  const { client, rights } = useSession();
  const { value } = useLoad(
    async (signal) => (rights.isSuper ? await client.call("static-bucket_list", {}, { signal }) : undefined),
    [client],
  );
  return { names: value ?? rights.namedBuckets, complete: value !== undefined };
}

import { connection, consoleFetch } from "../../connection.ts";
import { serverUrl } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";
import { usePolling } from "../../ui/polling.ts";

const refreshMs = 10_000;

/** What the server needs and does not have, as `GET /node/ready` tells anybody; undefined while it is not known. */
export function useMissing(): readonly string[] | undefined {
  const { value, reload } = useLoad(readMissing, [connection.value]);
  usePolling(reload, refreshMs);
  return value;
}

async function readMissing(signal: AbortSignal): Promise<readonly string[]> {
  const response = await consoleFetch(`${serverUrl}/node/ready`, { signal, credentials: "omit" });
  if (response.ok) return [];
  const { missing } = (await response.json()) as { readonly missing?: readonly string[] };
  return missing ?? [];
}

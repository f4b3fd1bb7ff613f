import type { ResultOf, StatusReason } from "../../../client/index.ts";
import { connection, consoleFetch } from "../../connection.ts";
import { type Session, serverUrl, useSession } from "../../session.ts";
import { useLoad } from "../../ui/call.tsx";

/** As often as the server measures. */
const refreshMs = 10_000;

export type Reason = StatusReason | { readonly code: "offline" };

/** What the server says of itself. Without the permission to ask it is unknown whether it is well. */
export interface ShownStatus {
  readonly verdict: ResultOf<"node-server_status">["verdict"] | "unknown";
  readonly reasons: readonly Reason[];
}

/** The state of the server, refreshed while the tab is visible; undefined while it is read. */
export function useStatus(): ShownStatus | undefined {
  const session = useSession();
  const { value } = useLoad((signal) => readStatus(session, signal), [session, connection.value], {
    every: refreshMs,
  });
  return connection.value === "offline" ? { verdict: "trouble", reasons: [{ code: "offline" }] } : value;
}

async function readStatus({ client, rights }: Session, signal: AbortSignal): Promise<ShownStatus> {
  const status = rights.may("node-server_status")
    ? await client.call("node-server_status", {}, { signal }).catch(() => undefined)
    : undefined;
  // Without a database no token can be checked, so the server refuses the call; anybody may ask what it lacks.
  return status ?? fromReadiness(await readMissing(signal));
}

type MissingCode = "database" | "schema" | "store" | "draining";

function fromReadiness(missing: readonly MissingCode[]): ShownStatus {
  const reasons = missing.map(
    (code) => ({ code, level: code === "draining" ? "attention" : "trouble" }) as const,
  );
  const gravest = reasons.find(({ level }) => level === "trouble") ?? reasons[0];
  return { verdict: gravest?.level ?? "unknown", reasons };
}

async function readMissing(signal: AbortSignal): Promise<readonly MissingCode[]> {
  const response = await consoleFetch(`${serverUrl}/node/ready`, { signal, credentials: "omit" });
  if (response.ok) return [];
  const { missing } = (await response.json()) as { readonly missing?: readonly MissingCode[] };
  return missing ?? [];
}

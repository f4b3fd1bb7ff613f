import { useState } from "preact/hooks";
import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/call.tsx";
import { Actors } from "./actors.ts";
import type { AuditRow } from "./audit-rows.ts";

/**
 * Tokens by name for the Super Token, which may list them; none for others. They are read again when one was created, edited or deleted.
 */
export function useActors(rows: readonly AuditRow[] | undefined): Actors {
  const { client, rights } = useSession();
  const newestChange = rows?.find(({ event }) => event?.event.startsWith("token."))?.key;
  const { value } = useLoad(
    async (signal) =>
      rights.may("token_list_all_tokens")
        ? new Actors((await client.call("token_list_all_tokens", {}, { signal })).tokens)
        : undefined,
    [client, rights.may("token_list_all_tokens"), newestChange],
  );
  const [none] = useState(() => new Actors([]));
  return value ?? none;
}

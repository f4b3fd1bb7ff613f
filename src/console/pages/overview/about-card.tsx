import { useState } from "preact/hooks";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { ServerCard } from "./server-card.tsx";
import { StorageCard } from "./storage-card.tsx";

/** Facts that are rarely needed: the build, the UUID, and the tables of the database. They are loaded when they are first shown. */
export function AboutCard({ isOpen }: { readonly isOpen: boolean }) {
  const { rights } = useSession();
  const [wasOpen, setWasOpen] = useState(isOpen);
  return (
    <details
      class="card overview-about"
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && setWasOpen(true)}
    >
      <summary>{t.overview.about}</summary>
      {wasOpen && <ServerCard />}
      {wasOpen && rights.may("storage_read") && <StorageCard />}
    </details>
  );
}

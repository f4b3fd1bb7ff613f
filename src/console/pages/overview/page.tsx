import { useSession } from "../../session.ts";
import { Page } from "../../ui/page.tsx";
import { NodesCard } from "./nodes-card.tsx";
import { ProblemsCard } from "./problems-card.tsx";
import { ServerCard } from "./server-card.tsx";
import { StorageCard } from "./storage-card.tsx";

export default function OverviewPage() {
  const { rights } = useSession();
  const readsLogs = rights.globally({ node: "read_logs" });
  const readsStorage = rights.globally({ node: "read_storage" });
  return (
    <Page title="Overview">
      <div class="cards">
        <ServerCard />
        {rights.globally({ node: "read_nodes" }) && <NodesCard />}
        {readsLogs && <ProblemsCard />}
        {!(readsLogs && readsStorage) && <HiddenCard readsLogs={readsLogs} readsStorage={readsStorage} />}
      </div>
      {readsStorage && <StorageCard />}
    </Page>
  );
}

interface HiddenCardProps {
  readonly readsLogs: boolean;
  readonly readsStorage: boolean;
}

/** Says which parts of the page this token does not get, and which permission shows them. */
function HiddenCard({ readsLogs, readsStorage }: HiddenCardProps) {
  return (
    <section class="card" aria-labelledby="hidden">
      <h2 id="hidden">More with other permissions</h2>
      {!readsLogs && (
        <p>The latest warnings and errors are shown with the permission Node::ReadLogs in scope global.</p>
      )}
      {!readsStorage && (
        <p>The size of the database is shown with the permission Node::ReadStorage in scope global.</p>
      )}
      <p>The Super Token has both. The menu lists the pages that this token may use.</p>
    </section>
  );
}

import { useSession } from "../../session.ts";
import { Page } from "../../ui/page.tsx";
import { ProblemsCard } from "./problems-card.tsx";
import { ServerCard } from "./server-card.tsx";
import { StorageCard } from "./storage-card.tsx";

export default function OverviewPage() {
  const { rights } = useSession();
  return (
    <Page title="Overview">
      <div class="cards">
        <ServerCard />
        {rights.isSuper ? (
          <ProblemsCard />
        ) : (
          <section class="card" aria-labelledby="hidden">
            <h2 id="hidden">More with the Super Token</h2>
            <p>
              The size of the database and the latest warnings and errors are shown only to the Super Token.
              The menu lists the pages that this token may use.
            </p>
          </section>
        )}
      </div>
      {rights.isSuper && <StorageCard />}
    </Page>
  );
}

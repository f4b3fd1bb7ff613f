import { Page } from "../../ui/page.tsx";

export default function LogsPage() {
  return (
    <Page title="Logs">
      <p>Not built yet.</p>
    </Page>
  );
}

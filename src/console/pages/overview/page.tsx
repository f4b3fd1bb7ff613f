import { Page } from "../../ui/page.tsx";

export default function OverviewPage() {
  return (
    <Page title="Overview">
      <p>Not built yet.</p>
    </Page>
  );
}

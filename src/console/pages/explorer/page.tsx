import { Page } from "../../ui/page.tsx";

export default function ExplorerPage() {
  return (
    <Page title="Explorer">
      <p>Not built yet.</p>
    </Page>
  );
}

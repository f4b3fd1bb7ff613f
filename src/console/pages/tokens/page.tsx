import { Page } from "../../ui/page.tsx";

export default function TokensPage() {
  return (
    <Page title="Tokens">
      <p>Not built yet.</p>
    </Page>
  );
}

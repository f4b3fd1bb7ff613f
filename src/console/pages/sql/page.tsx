import { Page } from "../../ui/page.tsx";

export default function SqlPage() {
  return (
    <Page title="Sql">
      <p>Not built yet.</p>
    </Page>
  );
}

import { Page } from "../../ui/page.tsx";

export default function BucketsPage() {
  return (
    <Page title="Buckets">
      <p>Not built yet.</p>
    </Page>
  );
}

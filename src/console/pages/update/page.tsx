import { Page } from "../../ui/page.tsx";

export default function UpdatePage() {
  return (
    <Page title="Update">
      <p>Not built yet.</p>
    </Page>
  );
}

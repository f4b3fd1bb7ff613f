import { t } from "../text/text.ts";

/** Grey bars in the place of rows that are being loaded. Screen readers hear that the page loads. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t.frame.loading}</span>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} aria-hidden="true" />
      ))}
    </div>
  );
}

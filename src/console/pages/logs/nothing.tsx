import type { Reading } from "./reading.ts";

/** Why the list is empty, and what to do about it. */
export function Nothing({ reading, search }: { readonly reading: Reading; readonly search: string }) {
  return <div class="empty logs-empty">{why(reading, search)}</div>;
}

function why(reading: Reading, search: string) {
  if (search !== "") return <p>No entry here contains “{search}”.</p>;
  if (reading.filter.value === undefined)
    return (
      <p>{reading.refusal.value === undefined ? "Reading the log…" : "Correct the filter to see the log."}</p>
    );
  if (reading.cleared.value)
    return (
      <>
        <p>You cleared this page. New entries appear here as they are written.</p>
        <p>The server keeps its entries: reload the page to see them again.</p>
      </>
    );
  return (
    <>
      <p>
        Nothing yet that the filter <code>{reading.filter.value}</code> lets through. New entries appear here
        as they are written.
      </p>
      <p>
        From before, the server keeps what its own <code>memory_log_filter</code> lets through.
      </p>
    </>
  );
}

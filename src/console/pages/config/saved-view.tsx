import { Icon } from "../../ui/icons.tsx";
import type { Saved } from "./desk.ts";

/** What the server made of the last text that was saved. */
export function SavedView({ saved }: { readonly saved: Saved }) {
  const look = lookOf(saved);
  return (
    <div class={look} role="status">
      <Icon name={look === "notice good" ? "check" : "warning"} />
      <div>{words(saved)}</div>
    </div>
  );
}

function lookOf(saved: Saved): string {
  if (saved.kind !== "applied" && saved.kind !== "unchanged") return "problem";
  return saved.warnings.length > 0 ? "notice" : "notice good";
}

function words(saved: Saved) {
  switch (saved.kind) {
    case "applied":
    case "unchanged":
      return (
        <>
          <p>Saved. The server says: {saved.words}.</p>
          {saved.warnings.map((warning) => (
            <p key={warning}>It warns: {warning}.</p>
          ))}
        </>
      );
    case "refused":
      return (
        <p>
          Saved, but not in effect. The server says: {saved.words}. Correct it and save again, or the next
          start may fail.
        </p>
      );
    case "unheard":
      return <p>Saved. The server did not say what became of it; look into its log.</p>;
    case "gone":
      return (
        <p>
          Saved, and the server has left this address: this console cannot reach it any more.{" "}
          {saved.address === undefined ? (
            "Its log says where it listens now."
          ) : (
            <>
              It should be at <a href={saved.address}>{saved.address}</a>.
            </>
          )}
        </p>
      );
  }
}

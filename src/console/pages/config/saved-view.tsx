import { Icon } from "../../ui/icons.tsx";
import type { Saved } from "./draft.ts";

/** Result of the last save. */
export function SavedView({ saved }: { readonly saved: Saved }) {
  const className = classOf(saved);
  return (
    <div class={className} role="status">
      <Icon name={className === "notice good" ? "check" : "warning"} />
      <div>{messageOf(saved)}</div>
    </div>
  );
}

function classOf(saved: Saved): string {
  if (saved.kind !== "applied" && saved.kind !== "unchanged") return "problem";
  return saved.warnings.length > 0 ? "notice" : "notice good";
}

function messageOf(saved: Saved) {
  switch (saved.kind) {
    case "applied":
    case "unchanged":
      return (
        <>
          <p>Saved. The server says: {saved.message}.</p>
          {saved.warnings.map((warning) => (
            <p key={warning}>It warns: {warning}.</p>
          ))}
        </>
      );
    case "refused":
      return (
        <p>
          Saved, but not in effect. The server says: {saved.message}. Correct it and save again, or the next
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

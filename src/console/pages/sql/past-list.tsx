import { plural, time } from "../../format.ts";
import { Dialog } from "../../ui/dialog.tsx";
import type { Past } from "./desk.ts";

export interface PastListProps {
  readonly past: readonly Past[];
  readonly onPick: (sql: string) => void;
  readonly onClose: () => void;
}

/** The last statements, to be taken back into the editor. */
export function PastList({ past, onPick, onClose }: PastListProps) {
  return (
    <Dialog title="History" onClose={onClose} wide>
      <p class="muted">
        The last {plural(50, "statement")}, newest first. They are kept in the memory of this tab alone,
        because they may hold secrets: signing out or reloading forgets them.
      </p>
      {past.length === 0 && <p class="empty">Nothing was run yet.</p>}
      <ul class="sql-past">
        {past.map(({ at, sql, end }) => (
          <li key={`${at.getTime()} ${sql}`}>
            <button type="button" onClick={() => onPick(sql)}>
              <code>{sql}</code>
              <small>
                {time(at)} · {end}
              </small>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

import { Icon } from "../../../ui/icons.tsx";
import type { Order, SortKey } from "./order.ts";
import { amendPlace } from "./place.ts";

const columns: ReadonlyArray<readonly [SortKey, string]> = [
  ["name", "Name"],
  ["size", "Size"],
  ["changed", "Changed"],
];

export interface SortBarProps {
  readonly order: Order;
  readonly all: boolean;
  readonly some: boolean;
  readonly onAll: (all: boolean) => void;
}

/** The heads of the columns; each sorts by its own. */
export function SortBar({ order, all, some, onAll }: SortBarProps) {
  return (
    <div class="files-row files-heads">
      <span class="files-check">
        <input
          type="checkbox"
          aria-label="Select all"
          checked={all}
          indeterminate={some && !all}
          onChange={(event: Event) => onAll((event.currentTarget as HTMLInputElement).checked)}
        />
      </span>
      {columns.map(([key, title]) => {
        const own = order.sort === key;
        const state = own ? (order.down ? ", descending" : ", ascending") : "";
        return (
          <span key={key} class={`files-${key}`}>
            <button
              type="button"
              aria-label={`Sort by ${title.toLowerCase()}${state}`}
              aria-pressed={own}
              onClick={() => amendPlace({ sort: key, down: own && !order.down })}
            >
              {title}
              {own && <Icon name={order.down ? "down" : "up"} />}
            </button>
          </span>
        );
      })}
    </div>
  );
}

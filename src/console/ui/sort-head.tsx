import { Icon } from "./icons.tsx";

export interface SortHeadProps {
  readonly label: string;
  /** Direction if the table is sorted by this column. */
  readonly order: "ascending" | "descending" | undefined;
  readonly numeric?: boolean;
  readonly onSort: () => void;
}

/** Head of a column that sorts its table. */
export function SortHead({ label, order, numeric, onSort }: SortHeadProps) {
  return (
    <th scope="col" aria-sort={order ?? "none"} class={numeric ? "number" : undefined}>
      <button type="button" class="sort-head" onClick={onSort}>
        {label}
        {order !== undefined && <Icon name={order === "ascending" ? "sortUp" : "sortDown"} />}
      </button>
    </th>
  );
}

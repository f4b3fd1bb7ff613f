import { linkTo, route } from "../../../route.ts";
import { Icon } from "../../../ui/icons.tsx";
import { headline } from "./upload-panel.tsx";
import { uploads } from "./uploads.ts";

/** On the other pages a word about the uploads, and the way back to them. */
export function UploadsElsewhere() {
  uploads.changed.value;
  const { all, busy } = uploads;
  if (route.value.page === "buckets" || !(busy || all.some(({ state }) => state === "failed"))) return null;
  return (
    <aside class="uploads-elsewhere" aria-label="Uploads">
      <a class="button" href={linkTo("buckets")}>
        <Icon name="up" />
        <span>{headline(uploads.totals(), busy)}</span>
      </a>
    </aside>
  );
}

import { t } from "../../../text/text.ts";
import { FileName } from "../../../ui/file-name.tsx";

const maxListed = 8;

/** The first names of a selection, and how many others there are. */
export function NameList({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="files-names">
      {names.slice(0, maxListed).map((name) => (
        <li key={name}>
          <FileName name={name} />
        </li>
      ))}
      {names.length > maxListed && (
        <li class="muted">{t.files.andOthers(t.frame.countOthers(names.length - maxListed))}</li>
      )}
    </ul>
  );
}

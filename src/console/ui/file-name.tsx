import { visibleText } from "./visible-text.ts";

/** Name or path from a bucket. `<bdi>` keeps its writing direction from reordering the text around it. */
export function FileName({ name }: { readonly name: string }) {
  return <bdi>{visibleText(name)}</bdi>;
}

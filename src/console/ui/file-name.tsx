import { visibleText } from "./visible-text.ts";

/** A name or path out of a bucket: isolated, so that its writing direction does not reorder the text around it. */
export function FileName({ name }: { readonly name: string }) {
  return <bdi>{visibleText(name)}</bdi>;
}

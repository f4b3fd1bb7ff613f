import { closeTo, go, linkTo, route } from "../../../route.ts";

/** Bucket whose mount dialog is open, as the query of the address holds it. One step back closes the dialog, not the page. */
export function bucketToMount(): string | undefined {
  return route.value.query.get("mount") ?? undefined;
}

export function openMount(bucket: string): void {
  const { page, rest, query } = route.value;
  go(linkTo(page, rest, { ...Object.fromEntries(query), mount: bucket }));
}

export function closeMount(): void {
  closeTo({ ...Object.fromEntries(route.value.query), mount: "" }, (before) => !before.query.has("mount"));
}

import type { Methods } from "../../../client/index.ts";
import { linkTo } from "../../route.ts";
import type { Rights } from "../../session/rights.ts";
import { t } from "../../text/text.ts";

export type TabName = "files" | "deploys" | "links" | "trash" | "settings";

interface BucketTab {
  readonly name: TabName;
  readonly title: string;
}

/** Tabs of a bucket that a token can use. */
export function bucketTabs(rights: Rights, name: string): BucketTab[] {
  const may = (method: keyof Methods) => rights.may(method, name);
  const mayChange = may("static-bucket_update") || may("static-bucket_delete");
  return [
    { name: "files", title: t.bucketTabs.files },
    ...(may("static-bucket_deploy_list") ? [{ name: "deploys", title: t.bucketTabs.deploys } as const] : []),
    ...(may("static-bucket_links") || may("static-bucket-file_link")
      ? [{ name: "links", title: t.bucketTabs.links } as const]
      : []),
    ...(may("static-bucket-file_history") ? [{ name: "trash", title: t.bucketTabs.trash } as const] : []),
    ...(mayChange && may("static-bucket_read")
      ? [{ name: "settings", title: t.bucketTabs.settings } as const]
      : []),
  ];
}

export function linkToTab(bucket: string, tab: TabName, query: Record<string, string> = {}): string {
  return linkTo("buckets", tab === "files" ? [bucket] : [bucket, tab], query);
}

import type { Permission } from "../../../client/index.ts";
import type { Rights } from "../../rights.ts";
import { linkTo } from "../../route.ts";
import { t } from "../../text/text.ts";

export type TabName = "files" | "deploys" | "links" | "trash" | "settings";

export interface BucketTab {
  readonly name: TabName;
  readonly title: string;
}

/** Tabs of a bucket that a token can use. */
export function bucketTabs(rights: Rights, name: string): BucketTab[] {
  const may = (...permissions: Permission[]) => rights.inBucket(name, ...permissions);
  const maySee = may({ static_bucket_file: "list" });
  const mayLink = maySee || may({ static_bucket_file: "read" }) || may({ static_bucket_file: "write" });
  const mayChange = may({ static_bucket: "write" }) || may({ static_bucket: "delete" });
  return [
    { name: "files", title: t.bucketTabs.files },
    ...(maySee ? [{ name: "deploys", title: t.bucketTabs.deploys } as const] : []),
    ...(mayLink ? [{ name: "links", title: t.bucketTabs.links } as const] : []),
    ...(maySee ? [{ name: "trash", title: t.bucketTabs.trash } as const] : []),
    ...(mayChange && may({ static_bucket: "read" })
      ? [{ name: "settings", title: t.bucketTabs.settings } as const]
      : []),
  ];
}

export function linkToTab(bucket: string, tab: TabName, query: Record<string, string> = {}): string {
  return linkTo("buckets", tab === "files" ? [bucket] : [bucket, tab], query);
}

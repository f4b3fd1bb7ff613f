import type { Bucket } from "../../../../client/index.ts";

/** What the form of the settings contains. */
export interface SettingsDraft {
  readonly isPublic: boolean;
  readonly isRoot: boolean;
  readonly cors: boolean;
  readonly cleanUrls: boolean;
  readonly enable: boolean;
  /** Host names, separated by spaces. */
  readonly hosts: string;
  readonly path: string;
}

export function toDraft(bucket: Bucket): SettingsDraft {
  return {
    isPublic: bucket.public !== false,
    isRoot: bucket.is_http_root,
    cors: bucket.cors,
    cleanUrls: bucket.clean_urls === true,
    enable: bucket.enable,
    hosts: bucket.hosts?.join(" ") ?? "",
    path: bucket.path,
  };
}

interface Changes {
  public?: boolean;
  is_http_root?: boolean;
  cors?: boolean;
  clean_urls?: boolean;
  enable?: boolean;
  hosts?: string[];
  path?: string;
}

/**
 * Settings that differ from the bucket's. Only they are sent: what somebody else has changed meanwhile stays, and host names need
 * more rights than the rest.
 */
export function changesOf(bucket: Bucket, draft: SettingsDraft): Changes {
  const before = toDraft(bucket);
  const changes: Changes = {};
  if (draft.isPublic !== before.isPublic) changes.public = draft.isPublic;
  if (draft.isRoot !== before.isRoot) changes.is_http_root = draft.isRoot;
  if (draft.cors !== before.cors) changes.cors = draft.cors;
  if (draft.cleanUrls !== before.cleanUrls) changes.clean_urls = draft.cleanUrls;
  if (draft.enable !== before.enable) changes.enable = draft.enable;
  const hosts = namesIn(draft.hosts);
  if (hosts.join(" ") !== before.hosts) changes.hosts = hosts;
  if (draft.path !== before.path) changes.path = draft.path;
  return changes;
}

/** Host names in a text, separated by spaces or commas. */
export function namesIn(hosts: string): string[] {
  return hosts.split(/[\s,]+/).filter((host) => host !== "");
}

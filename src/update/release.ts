import { Fault } from "../base/fault.ts";

/** Tag is a released version: `v` and three decimal numbers. Only this file creates one. */
export interface Tag {
  /** `v1.2.3` */
  readonly text: string;
  /** `1.2.3` */
  readonly version: string;
}

export function parseTag(text: string): Tag {
  const tag = tagOrUndefined(text);
  if (tag === undefined)
    throw new Fault("InvalidInput", "tag must read vX.Y.Z, such as v1.2.3", { field: "tag" });
  return tag;
}

/** `tagOrUndefined` is `parseTag` for callers that word the error themselves. */
export function tagOrUndefined(text: string): Tag | undefined {
  const version = /^v(\d{1,9}\.\d{1,9}\.\d{1,9})$/.exec(text)?.[1];
  return version === undefined ? undefined : { text, version };
}

const systems: Readonly<Record<string, string>> = {
  "unknown-linux-gnu": "linux-%-gnu",
  "unknown-linux-musl": "linux-%-musl",
  "apple-darwin": "macos-%",
  "pc-windows-msvc": "windows-%.exe",
};

/** `binaryName` is the name of a release's binary for a target triple. */
export function binaryName(triple: string): string {
  const dash = triple.indexOf("-");
  const system = systems[triple.slice(dash + 1)];
  if (system === undefined)
    throw new Fault("Other", `there are no releases for ${triple}; update it in the way it was installed`);
  return `node-server-${system.replace("%", triple.slice(0, dash))}`;
}

/** `releaseAddress` is the URL of a file of a release: `{release_url}/<name>?tag=<tag>`. */
export function releaseAddress(releaseUrl: string, name: string, tag: Tag): string {
  const url = new URL(releaseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${name}`;
  url.searchParams.set("tag", tag.text);
  return url.href;
}

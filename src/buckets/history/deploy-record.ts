import { randomBytes } from "node:crypto";
import { Fault } from "../../base/fault.ts";
import type { DeployValue } from "../../db/rows/entry-values.ts";

/** No bucket can have such a path: `~` is not allowed in one. */
const deploysFolder = "~deploys";
const idForm = /^[a-z0-9]{10}$/;
const idTimeChars = 8;
/** previewNameForm is the form of a name with a stable preview address: part of a URL, and as long as a label of DNS. */
export const previewNameForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const namedMark = "~";

/** Deploy is a tree of a bucket that is published, was published, or is being prepared. */
export interface Deploy extends DeployValue {
  readonly id: string;
}

/** DeployTarget is what an address names: a bucket, or with `site@id` a deploy of it, or with `site@~name` the newest one of a name. */
interface DeployTarget {
  readonly bucket: string;
  readonly deploy: string | undefined;
}

/** parseDeployTarget splits a name. A bucket's own name has no `@`. */
export function parseDeployTarget(name: string): DeployTarget {
  const at = name.lastIndexOf("@");
  const deploy = at === -1 ? "" : name.slice(at + 1);
  const isDeploy = idForm.test(deploy) || previewNameOf(deploy) !== undefined;
  return isDeploy ? { bucket: name.slice(0, at), deploy } : { bucket: name, deploy: undefined };
}

/** namedDeploy returns what stands for the newest deploy of a preview name in the place of an id. */
export function namedDeploy(name: string): string {
  return namedMark + name;
}

/** previewNameOf returns the preview name that stands in the place of an id; undefined for an id. */
export function previewNameOf(deploy: string): string | undefined {
  const name = deploy.slice(namedMark.length);
  return deploy.startsWith(namedMark) && previewNameForm.test(name) ? name : undefined;
}

/** nameOfDeploy names a deploy as addresses and the log do. */
export function nameOfDeploy(bucket: string, id: string): string {
  return `${bucket}@${id}`;
}

/** newDeployId returns a new id. As texts, ids of later deploys are greater. */
export function newDeployId(nowMs: number): string {
  const random = (randomBytes(2).readUInt16BE() % 36 ** 2).toString(36).padStart(2, "0");
  return Math.floor(nowMs).toString(36).padStart(idTimeChars, "0") + random;
}

/** newDeployPath returns a new path in the store for a tree of a bucket. It does not name the deploy whose tree is there. */
export function newDeployPath(bucketPath: string): string {
  // Two buckets cannot come to the same folder: no path of a bucket has `~` in it.
  return `${deploysFolder}/${bucketPath.replaceAll("/", "~")}/${randomBytes(8).toString("hex")}`;
}

/** isDeployPath returns whether a path in the store is that of a deploy. */
export function isDeployPath(path: string): boolean {
  return path.startsWith(`${deploysFolder}/`);
}

/** noDeploy returns the Fault for an id that the bucket does not have. */
export function noDeploy(id: string): Fault {
  return new Fault("NotFound", `the bucket has no deploy ${id.slice(0, 32)}`, { field: "deploy" });
}

/** isClosed returns the Fault for a change of a deploy that is not open. */
export function isClosed(id: string): Fault {
  return new Fault(
    "InvalidInput",
    `the deploy ${id} accepts no more files: it was published, prepared for a preview or deleted; begin another deploy`,
    { reason: "deploy_closed", deploy: id },
  );
}

/** byPublication sorts deploys, the last published or made first. */
export function byPublication(a: Deploy, b: Deploy): number {
  return (b.published_at ?? b.at) - (a.published_at ?? a.at) || (a.id < b.id ? 1 : -1);
}

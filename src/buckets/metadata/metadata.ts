// This folder is what WebDAV stores about files beside their content. The Metadata of this file joins both kinds for
// one bucket: locks.ts, which says whom a lock stops (bucket-files.ts asks it) and bounds their number, and
// properties.ts. Both are rows of `kv` under the keys of kv-keys.ts. A change of files moves or ends the metadata in
// its own turn, or in its own transaction where the names of files are rows.

import type { MetadataRows } from "../../db/rows/metadata-rows.ts";
import type { TreePath } from "../path.ts";
import { locksNamespace, propertiesNamespace } from "./kv-keys.ts";
import { Locks } from "./locks.ts";
import { PropertyRecords } from "./properties.ts";

/** Metadata is what WebDAV stores about the resources of one bucket beside their content. */
export class Metadata {
  readonly locks: Locks;
  readonly properties: PropertyRecords;

  private constructor(locks: Locks, properties: PropertyRecords) {
    this.locks = locks;
    this.properties = properties;
  }

  static ofBucket(name: string, rows: MetadataRows): Metadata {
    return new Metadata(
      new Locks(rows, locksNamespace(name)),
      new PropertyRecords(rows.kv, propertiesNamespace(name)),
    );
  }

  /** within returns the same metadata as a transaction sees and changes it; `rows` are those of the transaction. */
  within(rows: MetadataRows): Metadata {
    return new Metadata(this.locks.within(rows), this.properties.within(rows.kv));
  }

  /** inTurn returns the same metadata for one turn that has the paths of many resources: it asks once whether the bucket has any. */
  inTurn(): Metadata {
    return new Metadata(this.locks.inTurn(), this.properties.inTurn());
  }
}

/** moveMetadata follows a MOVE (RFC 4918 §7.6): it takes the properties along; the locks of the source end. */
export async function moveMetadata(
  { locks, properties }: Metadata,
  from: TreePath,
  to: TreePath,
): Promise<void> {
  await properties.move(from, to);
  await locks.forget(from);
}

/** forgetMetadata ends the properties and locks of a resource and of what was below it. */
export async function forgetMetadata({ locks, properties }: Metadata, path: TreePath): Promise<void> {
  await properties.forget(path);
  await locks.forget(path);
}

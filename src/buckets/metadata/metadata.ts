import type { MetadataRows } from "../../db/metadata-rows.ts";
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
}

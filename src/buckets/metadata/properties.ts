import { Fault } from "../../base/fault.ts";
import { escapeXml } from "../../base/xml.ts";
import { type KvRows, maxKeyBytes } from "../../db/rows/kv-rows.ts";
import { type TreePath, treeRoot } from "../path.ts";
import { keyOf, newKeyOf, pathOfKey } from "./kv-keys.ts";

/** Properties are the dead properties of one resource: `{namespace}name` → the element as XML. */
export type Properties = Readonly<Record<string, string>>;

/** Names and values of the properties of one resource together, without `recordProperty`: its writers have bounds of their own. */
const maxBytesPerResource = 1024 * 1024;
/** Properties of several resources that are read at a time. */
const maxBytesAtOnce = 1024 * 1024;
/** Keys of one statement: databases limit the number of parameters. */
const keysAtOnce = 500;
const none: Properties = {};

const recordNamespace = "https://node-server.dev/s3";
/** recordProperty is the property that has the record of a file whose store could not keep it, and what S3 knows of a folder. */
export const recordProperty = `{${recordNamespace}}object`;
const [opening, closing] = [`<n:object xmlns:n="${recordNamespace}">`, "</n:object>"];
const entities: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

/** toRecordProperty returns a JSON value as the property. */
export function toRecordProperty(value: object): string {
  return opening + escapeXml(JSON.stringify(value)) + closing;
}

/** parseRecordProperty returns the JSON value of the property; undefined for another form: any program may have written it. */
export function parseRecordProperty(property: string): unknown {
  if (!property.startsWith(opening) || !property.endsWith(closing)) return undefined;
  const text = property.slice(opening.length, -closing.length);
  try {
    return JSON.parse(text.replace(/&(?:lt|gt|quot|amp);/g, (entity) => entities[entity] ?? ""));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A copy has the time of its source in whole milliseconds. */
const timeToleranceMs = 1;

/** FileState is what tells the content of a file from an earlier one. */
interface FileState {
  readonly size: number;
  readonly modifiedMs: number;
}

function toFileRecord({ size, modifiedMs }: FileState, record: Uint8Array): string {
  return toRecordProperty({ of: { size, modifiedMs }, record: Buffer.from(record).toString("base64") });
}

/**
 * fileRecordIn returns the record of a file in a property. As with an attribute, it counts only while the file has the size and the time of
 * modification that it had when the record was stored.
 */
export function fileRecordIn(
  property: string | undefined,
  { size, modifiedMs }: FileState,
): Uint8Array | undefined {
  const { of, record } = (parseRecordProperty(property ?? "") ?? {}) as Record<string, unknown>;
  if (typeof record !== "string" || typeof of !== "object" || of === null) return undefined;
  const known = of as Partial<Record<keyof FileState, unknown>>;
  const isSame =
    known.size === size &&
    typeof known.modifiedMs === "number" &&
    Math.abs(known.modifiedMs - modifiedMs) < timeToleranceMs;
  return isSame ? Buffer.from(record, "base64") : undefined;
}

/** PropertyRecords stores the dead properties of one bucket (RFC 4918 §4.2), by canonical path. */
export class PropertyRecords {
  readonly #rows: KvRows;
  readonly #namespace: string;

  constructor(rows: KvRows, namespace: string) {
    this.#rows = rows;
    this.#namespace = namespace;
  }

  /** within returns the same properties over the rows of a transaction. */
  within(rows: KvRows): PropertyRecords {
    return new PropertyRecords(rows, this.#namespace);
  }

  /** inTurn returns the same properties for one turn (`KvRows.inTurn`). */
  inTurn(): PropertyRecords {
    return this.within(this.#rows.inTurn());
  }

  /** Whether no resource of the bucket is known to have properties, without waiting. */
  get isKnownEmpty(): boolean {
    return this.#rows.isKnownEmpty(this.#namespace);
  }

  async get(path: TreePath): Promise<Properties> {
    const [row] = await this.#rows.getMany(this.#namespace, [keyOf(path)]);
    return (row?.value as Properties | undefined) ?? none;
  }

  /**
   * inParts yields the properties of resources, in parts that the memory can hold. A part is about the next `count` of the paths, and has
   * no entry for a resource without properties.
   */
  async *inParts(
    paths: readonly TreePath[],
  ): AsyncGenerator<{ readonly count: number; readonly found: ReadonlyMap<TreePath, Properties> }> {
    if (this.#rows.isKnownEmpty(this.#namespace)) {
      yield { count: paths.length, found: new Map() };
      return;
    }
    const byKey = new Map(paths.map((path) => [keyOf(path), path]));
    for await (const { count, rows } of this.#rows.getInParts(
      this.#namespace,
      [...byKey.keys()],
      maxBytesAtOnce,
    )) {
      const found = new Map<TreePath, Properties>();
      for (const { key, value } of rows) {
        const path = byKey.get(key);
        if (path !== undefined) found.set(path, value as Properties);
      }
      yield { count, found };
    }
  }

  /** paths returns the paths of all resources that have properties. */
  async paths(): Promise<TreePath[]> {
    const keys = await this.#rows.subtreeKeys(this.#namespace, keyOf(treeRoot));
    return keys.flatMap((key) => pathOfKey(key) ?? []);
  }

  async isEmpty(): Promise<boolean> {
    return this.#rows.isKnownEmpty(this.#namespace) || this.#rows.isEmpty(this.#namespace);
  }

  /** recordOf returns the record of a file that is stored here; undefined if there is none for this state of the file. */
  async recordOf(path: TreePath, state: FileState): Promise<Uint8Array | undefined> {
    return this.isKnownEmpty ? undefined : fileRecordIn((await this.get(path))[recordProperty], state);
  }

  /** keepRecord stores the record of a file where its store could not keep it, and else deletes what is stored of an earlier file. */
  async keepRecord(
    path: TreePath,
    stats: FileState & { readonly record?: Uint8Array | undefined },
    record: Uint8Array | undefined,
  ): Promise<void> {
    if (record !== undefined && stats.record === undefined)
      await this.change(path, new Map([[recordProperty, toFileRecord(stats, record)]]));
    else if (!this.isKnownEmpty && (await this.get(path))[recordProperty] !== undefined)
      await this.change(path, new Map([[recordProperty, undefined]]));
  }

  /** change sets properties, all or none, and removes those whose value is undefined. InvalidInput above `maxBytesPerResource`. */
  async change(path: TreePath, changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    const key = newKeyOf(path);
    await this.#rows.change(this.#namespace, { keys: [key] }, (rows) => {
      const next = new Map(Object.entries((rows.get(key) as Properties | undefined) ?? none));
      for (const [name, value] of changes) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      const bytes = [...next].reduce(
        (sum, [name, value]) =>
          name === recordProperty ? sum : sum + Buffer.byteLength(name) + Buffer.byteLength(value),
        0,
      );
      if (bytes > maxBytesPerResource)
        throw new Fault("InvalidInput", `the properties of one file may have ${maxBytesPerResource} bytes`, {
          path,
        });
      return {
        write: new Map([[key, next.size === 0 ? undefined : Object.fromEntries(next)]]),
        result: undefined,
      };
    });
  }

  /** move takes the properties of a resource, and of all below it, to another path in place of those stored there. */
  async move(from: TreePath, to: TreePath): Promise<void> {
    await this.#rows.move(this.#namespace, keyOf(from), keyOf(to));
  }

  /**
   * copy replaces the properties at `to` with those of a resource and, if `recursive`, of all below it. Keys that would be too
   * long are left out.
   */
  async copy(from: TreePath, to: TreePath, { recursive }: { readonly recursive: boolean }): Promise<void> {
    await this.forget(to);
    const target = (key: string) => keyOf(to) + key.slice(keyOf(from).length);
    const all = recursive ? await this.#rows.subtreeKeys(this.#namespace, keyOf(from)) : [keyOf(from)];
    const keys = all.filter((key) => Buffer.byteLength(target(key)) <= maxKeyBytes);
    for (let at = 0; at < keys.length; at += keysAtOnce) {
      const some = keys.slice(at, at + keysAtOnce);
      for await (const { rows } of this.#rows.getInParts(this.#namespace, some, maxBytesAtOnce)) {
        const write = new Map(rows.map(({ key, value }) => [target(key), value]));
        await this.#rows.change(this.#namespace, { keys: [] }, () => ({ write, result: undefined }));
      }
    }
  }

  /** forget deletes the properties of a resource and of all below it. */
  async forget(path: TreePath): Promise<void> {
    if (this.#rows.isKnownEmpty(this.#namespace)) return;
    await this.#rows.remove(this.#namespace, keyOf(path), { includingKey: true });
  }
}

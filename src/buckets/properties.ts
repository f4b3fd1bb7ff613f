import { Fault } from "../base/fault.ts";
import type { KvRows } from "../db/kv-rows.ts";
import { maxKeyBytes } from "../db/kv-rows.ts";
import { keyOf, pathOfKey, storedKey } from "./kept.ts";
import type { TreePath } from "./path.ts";

/** Dead properties of one resource: `{namespace}name` → the element as XML. */
export type Properties = Readonly<Record<string, string>>;

/** How much one resource may carry. */
const mostBytes = 1024 * 1024;
const none: Properties = {};

/** What WebDAV clients keep about the files of one bucket. */
export class PropertyRecords {
  constructor(
    private readonly rows: KvRows,
    private readonly namespace: string,
  ) {}

  async of(path: TreePath): Promise<Properties> {
    return (await this.ofSome([path])).get(path) ?? none;
  }

  async ofSome(paths: readonly TreePath[]): Promise<Map<TreePath, Properties>> {
    const rows = await this.rows.some(this.namespace, paths.map(keyOf));
    return new Map(rows.map(({ key, value }) => [pathOfKey(key), value as Properties]));
  }

  isEmpty(): Promise<boolean> {
    return this.rows.isEmpty(this.namespace);
  }

  /** Sets and, where the value is undefined, removes. */
  async change(path: TreePath, changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    const key = storedKey(path);
    await this.rows.change(this.namespace, { keys: [key] }, (rows) => {
      const next = new Map(Object.entries((rows.get(key) as Properties | undefined) ?? none));
      for (const [name, value] of changes) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      const bytes = [...next].reduce(
        (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
        0,
      );
      if (bytes > mostBytes)
        throw new Fault("InvalidInput", `the properties of one file may have ${mostBytes} bytes`, { path });
      return {
        write: new Map([[key, next.size === 0 ? undefined : Object.fromEntries(next)]]),
        result: undefined,
      };
    });
  }

  async move(from: TreePath, to: TreePath): Promise<void> {
    await this.rows.move(this.namespace, keyOf(from), keyOf(to));
  }

  /** Those of a resource and, if `deep`, of all below it; what stood at `to` had others, which go. */
  async copy(from: TreePath, to: TreePath, deep: boolean): Promise<void> {
    await this.forget(to);
    const rows = deep
      ? await this.rows.within(this.namespace, keyOf(from))
      : await this.rows.some(this.namespace, [keyOf(from)]);
    if (rows.length === 0) return;
    const write = new Map(
      rows
        .map(({ key, value }) => [keyOf(to) + key.slice(keyOf(from).length), value] as const)
        .filter(([key]) => Buffer.byteLength(key) <= maxKeyBytes),
    );
    await this.rows.change(this.namespace, { keys: [] }, () => ({ write, result: undefined }));
  }

  async forget(path: TreePath): Promise<void> {
    await this.rows.remove(this.namespace, keyOf(path), true);
  }
}

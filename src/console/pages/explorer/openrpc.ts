import { type Param, type Schema, toParam } from "./param.ts";

/** A method, as the server describes it. */
export interface MethodInfo {
  readonly name: string;
  readonly namespace: string;
  readonly doc: string;
  /** What it asks of its caller, in words. */
  readonly need: string;
  /** What to use in its place. */
  readonly deprecated: string | undefined;
  readonly params: readonly Param[];
  /** Its results are events. */
  readonly isStream: boolean;
}

interface OpenRpcMethod {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly params?: ReadonlyArray<{
    readonly name: string;
    readonly required?: boolean;
    readonly schema?: Schema;
  }>;
  readonly "x-need"?: string;
  readonly "x-event"?: unknown;
}

/** Reads what `rpc.discover` answers. */
export function readMethods(document: Readonly<Record<string, unknown>>): MethodInfo[] {
  const methods = (document.methods ?? []) as readonly OpenRpcMethod[];
  return methods.map((method) => ({
    name: method.name,
    namespace: method.name.split(/[_.]/, 1)[0] ?? "",
    doc: method.summary ?? "",
    need: method["x-need"] ?? "unknown",
    deprecated: method.deprecated ? (method.description ?? "Deprecated.") : undefined,
    params: (method.params ?? []).map(({ name, required = false, schema = {} }) =>
      toParam(name, required, schema),
    ),
    isStream: method["x-event"] !== undefined,
  }));
}

/** By namespace, those that hold every word of `wanted` in name or doc. */
export function findMethods(methods: readonly MethodInfo[], wanted: string): Map<string, MethodInfo[]> {
  const words = wanted.toLowerCase().split(/\s+/);
  const found = methods.filter(({ name, doc }) => {
    const text = `${name} ${doc}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return Map.groupBy(found, ({ namespace }) => namespace);
}

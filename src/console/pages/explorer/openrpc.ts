import type { Effect, OpenRpcDocument, Requirement } from "../../../client/index.ts";
import { type Param, toParam } from "./param.ts";

/** A method, as the server describes it. */
export interface MethodInfo {
  readonly name: string;
  readonly namespace: string;
  readonly doc: string;
  /** What it asks of its caller, in words. */
  readonly need: string;
  /** The same as data; more than one where it depends on the params. */
  readonly requirements: readonly Requirement[];
  readonly effect: Effect;
  /** Asked about before the call. */
  readonly warning: string | undefined;
  /** What to use in its place. */
  readonly deprecated: string | undefined;
  readonly params: readonly Param[];
  /** Its results are events. */
  readonly isStream: boolean;
}

/** Reads what `rpc.discover` answers. */
export function readMethods({ methods }: OpenRpcDocument): MethodInfo[] {
  return methods.map((method) => ({
    name: method.name,
    namespace: method.name.split(/[_.]/, 1)[0] ?? "",
    doc: method.summary,
    need: method["x-need"],
    requirements: method["x-authorization"],
    effect: method["x-effect"],
    warning: method["x-warning"],
    deprecated: method.deprecated ? (method.description ?? "Deprecated.") : undefined,
    params: method.params.map(toParam),
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

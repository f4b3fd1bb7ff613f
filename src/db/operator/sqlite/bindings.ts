import type { SQLInputValue } from "node:sqlite";
import { Fault } from "../../../base/fault.ts";
import { exactJson } from "../../../base/json.ts";

/** Binding is a parameter on its way to the child; integers as digits, because JSON would round them to 53 bits. */
export type Binding = null | { readonly text: string } | { readonly real: number } | { readonly int: string };

/** `toBinding` accepts every JSON type: arrays and objects become their JSON text. */
export function toBinding(value: unknown, at: number): Binding {
  if (value === null) return null;
  if (typeof value === "string") return { text: value };
  if (typeof value === "boolean") return { int: value ? "1" : "0" };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { int: String(value) } : { real: value };
  if (typeof value !== "bigint") return { text: exactJson(value) };
  if (BigInt.asIntN(64, value) === value) return { int: String(value) };
  throw new Fault("InvalidInput", `params[${at}] does not fit into 64 bits; give it as text`, {
    field: `params.${at}`,
  });
}

export function fromBinding(binding: Binding): SQLInputValue {
  if (binding === null) return null;
  if ("text" in binding) return binding.text;
  return "int" in binding ? BigInt(binding.int) : binding.real;
}

export function refuseWrongParams(bindings: readonly Binding[] | null, count: number, more: boolean): void {
  if (bindings !== null && more)
    throw new Fault("InvalidInput", "params are possible with a single statement only", { field: "params" });
  const given = bindings?.length ?? 0;
  if (count === given) return;
  throw new Fault("InvalidInput", `the statement has ${count} placeholders, but ${given} params were given`, {
    field: "params",
  });
}

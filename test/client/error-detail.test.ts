import { expect, test } from "bun:test";
import { Fault, type FaultKind, faultKinds } from "../../src/base/fault.ts";
import { toRpcError } from "../../src/client/errors.ts";
import { toWireError } from "../../src/rpc/bodies.ts";

test("an error of every kind has its sentence without the title of the kind in front", () => {
  const detailOf = (kind: FaultKind, detail: string) => {
    return toRpcError(toWireError(new Fault(kind, detail))).detail;
  };
  for (const kind of Object.keys(faultKinds) as FaultKind[])
    expect(detailOf(kind, "name: must be shorter")).toBe("name: must be shorter");
  // A server older than this field.
  expect(toRpcError({ code: 108, message: "too long" }).detail).toBe("too long");
});

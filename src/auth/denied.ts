import { type DenialReason, Fault, type FaultData } from "../base/fault.ts";

/** Denied is thrown by `auth/` only. Its reason travels as `data.reason`, so that no program has to read the message. */
export class Denied extends Fault {
  constructor(reason: DenialReason, detail: string, data: FaultData = {}) {
    super("PermissionDenied", detail, { reason, ...data });
  }
}

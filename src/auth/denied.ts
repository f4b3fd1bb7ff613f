import { type DenialReason, Fault } from "../base/fault.ts";

/** Denied is thrown by `auth/` only. Its reason travels as `data.reason`, so that no program has to read the message. */
export class Denied extends Fault {
  constructor(reason: DenialReason, detail: string, data: Readonly<Record<string, unknown>> = {}) {
    super("PermissionDenied", detail, { reason, ...data });
  }
}

import type { ServerEvent, ServerEvents } from "../../../client/index.ts";

/** Codes of changes that callers make: their fields have the address of the caller. */
export type AuditCode = {
  [C in keyof ServerEvents]: ServerEvents[C] extends { readonly address: string } ? C : never;
}[keyof ServerEvents];

export type AuditEvent = Extract<ServerEvent, { readonly event: AuditCode }>;

export const auditKinds = ["file", "bucket", "deploy", "link", "token", "server", "sign_in"] as const;
export type AuditKind = (typeof auditKinds)[number];

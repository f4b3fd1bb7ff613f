import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { visible } from "../base/visible-text.ts";

/** `advice` says for each reason why there is no certificate what to do. */
export const advice = {
  dns_missing: "the name is not in the DNS: add an A or AAAA record with the public address of this server",
  dns_elsewhere:
    "the name leads to another server: let its A and AAAA records have the public address of this server alone, or let the proxy at that address pass /.well-known/acme-challenge/ on",
  port_closed:
    "port 80 of the name cannot be reached: open it in the firewall and the router, and let http_listener listen there; or use dns_hook. If the address in the detail is one of IPv6, let ws_listener and http_listener listen at [::], or remove the AAAA record",
  caa: "a CAA record of the domain forbids this certificate authority: allow it there, or remove the record",
  rate_limited: "the certificate authority takes no further orders for now; the server tries again by itself",
  limited_here:
    "the server has ordered often in the last hour and waits, so that the certificate authority does not block it; it tries again by itself",
  name_refused: "the certificate authority issues no certificate for this name: use another name",
  challenge_missing:
    "the certificate authority offers no challenge that this server can answer: set dns_hook, or use another directory",
  account_refused:
    "the certificate authority refuses the account: look at email, eab_kid and eab_hmac_key in [tls]",
  ca_away:
    "the certificate authority cannot be reached: look at directory and ca in [tls] and at the network; the server tries again by itself",
  ca_refused: "the certificate authority refused the order; the detail says why",
  dns_hook_failed:
    "the program in dns_hook failed: the log has what it said; or run it by hand and look at its messages",
  store_failed:
    "the private key or the certificate cannot be stored: the detail says where; make room there, or give the server's user the right to write",
  failed: "the order failed; the log has more, and the server tries again by itself",
} as const;

/** FailureReason is a code for why there is no certificate. */
export type FailureReason = keyof typeof advice;

/** OrderFailure is why an order or its preparation failed. */
export class OrderFailure extends Error {
  constructor(
    readonly reason: FailureReason,
    detail: string,
    /** The time after which the certificate authority wants to be asked again. */
    readonly retryAfterMs = 0,
    /** What a program of the operator's said. It may contain a secret, and is for the log alone. */
    readonly output = "",
  ) {
    super(visible(detail).slice(0, 500));
  }
}

/** AcmeProblem is a refusal by the certificate authority (RFC 8555 §6.7). */
export interface AcmeProblem {
  readonly type?: string;
  readonly detail?: string;
}

/** The reasons for the types of problems, without `urn:ietf:params:acme:error:`. */
const reasons: Readonly<Record<string, FailureReason>> = {
  dns: "dns_missing",
  connection: "port_closed",
  unauthorized: "dns_elsewhere",
  incorrectResponse: "dns_elsewhere",
  tls: "dns_elsewhere",
  caa: "caa",
  rateLimited: "rate_limited",
  rejectedIdentifier: "name_refused",
  unsupportedIdentifier: "name_refused",
  externalAccountRequired: "account_refused",
  userActionRequired: "account_refused",
  invalidContact: "account_refused",
  unsupportedContact: "account_refused",
  accountDoesNotExist: "account_refused",
  serverInternal: "ca_away",
};

/** `problemType` returns the last part of the type of a problem. */
export function problemType({ type = "" }: AcmeProblem): string {
  return type.split(":").at(-1) ?? "";
}

/** `failureOf` returns the failure that a problem is. */
export function failureOf(problem: AcmeProblem, retryAfterMs = 0): OrderFailure {
  const type = problemType(problem);
  return new OrderFailure(reasons[type] ?? "ca_refused", problem.detail ?? type, retryAfterMs);
}

/** `toFailure` returns the failure that any error of an order is. */
export function toFailure(error: unknown): OrderFailure {
  if (error instanceof OrderFailure) return error;
  // Only the database, which has the keys, says something in this form.
  if (error instanceof Fault) return new OrderFailure("store_failed", error.detail);
  const isOfNetwork = codeOf(error) !== undefined || ["TimeoutError", "TypeError"].includes(nameOf(error));
  return new OrderFailure(isOfNetwork ? "ca_away" : "failed", messageOf(error));
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

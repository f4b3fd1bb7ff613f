/** The time before its end from which a certificate is reported. Tools that renew certificates do so 30 days before. */
const warningMs = 14 * 24 * 60 * 60 * 1000;

/** CertificateState is a certificate that ends soon, or has ended. */
export interface CertificateState {
  readonly hasExpired: boolean;
  /** ISO 8601. */
  readonly expires: string;
  /** For people: what is wrong and what to do. */
  readonly text: string;
}

/** certificateState tells whether a certificate has to be renewed; undefined while it is valid for more than 14 days. */
export function certificateState(expiresAtMs: number, nowMs: number): CertificateState | undefined {
  if (expiresAtMs - nowMs > warningMs) return undefined;
  const hasExpired = expiresAtMs <= nowMs;
  const expires = new Date(expiresAtMs).toISOString();
  const text = `${hasExpired ? "expired" : "expires"} on ${expires}; renew it and send HUP to the server`;
  return { hasExpired, expires, text };
}

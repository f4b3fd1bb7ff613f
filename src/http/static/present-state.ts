/** A directive that asks for validation at the origin (RFC 9111 §5.2.1). */
const validates = /(?:^|[\s,])(?:no-cache|max-age\s*=\s*"?0+"?)(?=$|[\s,;])/i;

/**
 * wantsPresentState is whether a request must be answered by the state after it was sent, and not by one that is up to a second
 * old. Browsers send
 * `max-age=0` or `no-cache` when a user reloads a page. `Pragma: no-cache` counts without Cache-Control only (RFC 9111 §5.4).
 */
export function wantsPresentState(headers: Headers): boolean {
  const control = headers.get("cache-control");
  if (control !== null) return validates.test(control);
  return headers.get("pragma")?.toLowerCase().includes("no-cache") ?? false;
}

import { isIPv4, isIPv6 } from "node:net";
import { canonicalIp } from "../../base/address.ts";

/** `proxyHeaders` are the headers in which a proxy can name the client. */
export const proxyHeaders = ["x-forwarded-for", "forwarded"] as const;
export type ProxyHeader = (typeof proxyHeaders)[number];

/**
 * `hopsOf` yields the addresses of a proxy header from the right, so from the nearest hop to the farthest; undefined for an element
 * that names none. What lies left of the first untrusted hop was written by the client: it is not even parsed.
 */
export function* hopsOf(header: ProxyHeader, value: string): Generator<string | undefined> {
  for (let end = value.length; end >= 0; ) {
    // A comma inside a quoted string leaves an unpaired quote on both sides, so neither is a valid element.
    const comma = end === 0 ? -1 : value.lastIndexOf(",", end - 1);
    const element = value.slice(comma + 1, end).trim();
    yield header === "forwarded" ? forIn(element) : addressIn(element);
    end = comma;
  }
}

/** An address, in brackets if it is IPv6, with or without a port: RFC 7239 §6. */
const node = /^(?:\[([^\]]+)\]|([\d.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/;

function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = node.exec(text) ?? [];
  if (bracketed !== undefined) return isIPv6(bracketed) ? canonicalIp(bracketed) : undefined;
  if (plain !== undefined) return isIPv4(plain) ? plain : undefined;
  return canonicalIp(text);
}

/** One parameter of an element of `Forwarded` (RFC 7239 §4). Unquoted addresses with a port are invalid there, but common. */
const parameter = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"\\]+))\s*(?:;|$)/y;

/** `forIn` returns the address of the only `for` parameter. */
function forIn(element: string): string | undefined {
  let found: string | undefined;
  for (parameter.lastIndex = 0; parameter.lastIndex < element.length; ) {
    const match = parameter.exec(element);
    if (match === null) return undefined;
    const [, name = "", quoted, plain = ""] = match;
    if (name.toLowerCase() !== "for") continue;
    if (found !== undefined) return undefined;
    found = quoted?.replace(/\\(.)/g, "$1") ?? plain;
  }
  return found === undefined ? undefined : addressIn(found);
}

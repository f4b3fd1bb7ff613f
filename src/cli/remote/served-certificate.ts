import { connect } from "node:tls";

/** A certificate may contain hundreds of names; a message shows the first ones. */
const maxNames = 10;

/** ServedCertificate is what a message says about a certificate. */
export interface ServedCertificate {
  /** The hosts that it is for. */
  readonly names: readonly string[];
  /** When it ends, in ISO 8601. */
  readonly expires: string | undefined;
}

const unknown: ServedCertificate = { names: [], expires: undefined };

/**
 * servedCertificate reads the certificate at an address, as far as that can be done. It sends nothing but the handshake, and does not
 * check the certificate: for messages only.
 */
export function servedCertificate(url: string, timeoutMs: number): Promise<ServedCertificate> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const { promise, resolve } = Promise.withResolvers<ServedCertificate>();
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false }, () => {
    const { subjectaltname = "", valid_to = "" } = socket.getPeerCertificate();
    const end = Date.parse(valid_to);
    resolve({
      names: subjectaltname.split(", ").flatMap(toHost).slice(0, maxNames),
      expires: Number.isNaN(end) ? undefined : new Date(end).toISOString(),
    });
  });
  socket.on("error", () => resolve(unknown));
  socket.setTimeout(timeoutMs, () => resolve(unknown));
  return promise.finally(() => socket.destroy());
}

/** Reads one entry: `DNS:node.example` or `IP Address:127.0.0.1`; others, such as e-mail addresses, are no hosts. */
function toHost(entry: string): string[] {
  const [, host] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? [];
  return host === undefined ? [] : [host];
}

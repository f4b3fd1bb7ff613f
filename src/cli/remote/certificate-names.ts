import { connect } from "node:tls";

/** A certificate may contain hundreds of names; a message shows the first ones. */
const maxNames = 10;

/**
 * certificateNames lists the hosts that the certificate at an address is for; none if that cannot be found out. It sends nothing but the
 * handshake, and does not check the certificate: for messages only.
 */
export function certificateNames(url: string, timeoutMs: number): Promise<string[]> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false }, () => {
    const { subjectaltname = "" } = socket.getPeerCertificate();
    resolve(subjectaltname.split(", ").flatMap(toHost).slice(0, maxNames));
  });
  socket.on("error", () => resolve([]));
  socket.setTimeout(timeoutMs, () => resolve([]));
  return promise.finally(() => socket.destroy());
}

/** Reads one entry: `DNS:node.example` or `IP Address:127.0.0.1`; others, such as e-mail addresses, are no hosts. */
function toHost(entry: string): string[] {
  const [, host] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? [];
  return host === undefined ? [] : [host];
}

import { readFileSync } from "node:fs";
import { codeOf, messageOf } from "../../base/fault.ts";
import type { Fetch, SocketClass } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

/** Reads the certificates (PEM) of a file. */
export function readCa(ctx: Context, path: string): string {
  let text: string;
  try {
    text = readFileSync(ctx.path(path), "utf8");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "there is no such file" : messageOf(error);
    throw new WrongUsage(`the certificates in ${path} cannot be read: ${why}; give another file with --ca`);
  }
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new WrongUsage(`${path} contains no certificate in PEM; one begins with -----BEGIN CERTIFICATE-----`);
}

/** CertificateTrust says what a server's certificate is checked against. */
export interface CertificateTrust {
  /** Certificates in PEM; no others are trusted. */
  readonly ca: string;
  /** Replaces the check that the certificate names the host; undefined accepts it. */
  readonly checkServerIdentity?: () => Error | undefined;
}

export function trustingFetch(tls: CertificateTrust): Fetch {
  return (url, init) => fetch(url, { ...init, tls } as BunFetchRequestInit);
}

export function trustingSocket(tls: CertificateTrust): SocketClass {
  return class extends WebSocket {
    constructor(url: string) {
      super(url, { tls });
    }
  };
}

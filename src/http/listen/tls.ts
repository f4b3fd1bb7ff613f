import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { accessMessage, readProblem, readRegularFileSync } from "../../base/local-fs/access.ts";
import { Task } from "../../base/task.ts";
import type { Logger } from "../../log/hub.ts";

/** Tls is a certificate and its private key, both PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
  /** When the first of the certificates in `cert` ends, in Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** KeyPair is a certificate chain and its private key, both PEM. */
interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

interface OwnCertificate extends KeyPair {
  readonly serial: string;
  readonly issuer: string;
  readonly from: number;
  readonly until: number;
}

/** OwnCertificates are those that the server orders by itself. They change while a listener is open. */
export interface OwnCertificates {
  /** Undefined without `[tls] auto`. */
  readonly set:
    | { readonly fallback: KeyPair; readonly named: ReadonlyMap<string, OwnCertificate> }
    | undefined;
  /** The one that ends first, in Unix milliseconds. */
  readonly first: { readonly from: number; readonly until: number } | undefined;
}

/** CertificateEnd is when a certificate ends, and from when on that is reported. */
export interface CertificateEnd {
  readonly expiresAtMs: number;
  readonly warnFromMs: number;
  /** Whether the server orders it by itself. */
  readonly isOrdered: boolean;
}

/** The time before its end from which a certificate is reported. Tools that renew certificates do so 30 days before. */
const warningMs = 14 * 24 * 60 * 60 * 1000;

/** endOfFile is that of a certificate in a file. */
export function endOfFile(expiresAtMs: number): CertificateEnd {
  return { expiresAtMs, warnFromMs: expiresAtMs - warningMs, isOrdered: false };
}

/** endOfOrdered is that of a certificate that the server orders: it is renewed after two thirds of its life, which may be a day. */
export function endOfOrdered({
  from,
  until,
}: {
  readonly from: number;
  readonly until: number;
}): CertificateEnd {
  return {
    expiresAtMs: until,
    warnFromMs: until - Math.min(warningMs, (until - from) / 6),
    isOrdered: true,
  };
}

/** readTls reads a certificate and its key; throws unless both are valid and belong together. */
export function readTls(certPath: string, keyPath: string): Tls {
  const cert = readPem(certPath, { what: "certificate", key: "tls_cert" });
  const key = readPem(keyPath, { what: "private key", key: "tls_key" });
  const certificate = parsePem(certPath, "PEM certificate", () => new X509Certificate(cert));
  const privateKey = parsePem(keyPath, "PEM private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Fault(
      "InvalidInput",
      `the private key ${keyPath} does not belong to the certificate ${certPath}`,
      { path: keyPath },
    );
  }
  return { cert, key, expiresAtMs: endOf(certPath, cert) };
}

/** The end of the chain: that of its certificate that ends first. */
function endOf(path: string, pem: string): number {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [pem];
  const ends = blocks.map((block) =>
    parsePem(path, "PEM certificate", () => new X509Certificate(block).validTo),
  );
  return Math.min(...ends.map((end) => Date.parse(end)));
}

/** readPem reads a file in PEM. */
export function readPem(
  path: string,
  { what, key }: { readonly what: string; readonly key: string },
): string {
  try {
    return readRegularFileSync(path);
  } catch (error) {
    const why =
      codeOf(error) === "ENOENT"
        ? `does not exist; put it there, or name another file in ${key}`
        : `cannot be read: ${messageOf(error)}; name another file in ${key}`;
    const subject = { name: `the ${what}`, path, failed: "cannot be read" };
    throw new Fault("IoError", accessMessage(subject, readProblem(path) ?? { path, why }), { path });
  }
}

function parsePem<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Fault("InvalidInput", `${path} is not a ${what}`, { path }, { cause: error });
  }
}

/** CertificateState is a certificate that ends soon, or has ended. */
interface CertificateState {
  readonly hasExpired: boolean;
  /** ISO 8601. */
  readonly expires: string;
  /** For people: what is wrong and what to do. */
  readonly text: string;
}

/** certificateState returns whether a certificate has to be renewed; undefined while it is valid for long enough. */
export function certificateState(
  { expiresAtMs, warnFromMs, isOrdered }: CertificateEnd,
  nowMs: number,
): CertificateState | undefined {
  if (nowMs < warnFromMs) return undefined;
  const hasExpired = expiresAtMs <= nowMs;
  const expires = new Date(expiresAtMs).toISOString();
  const advice = isOrdered
    ? "`node-server certs` says why it was not renewed"
    : "renew it and send HUP to the server";
  const text = `${hasExpired ? "expired" : "expires"} on ${expires}; ${advice}`;
  return { hasExpired, expires, text };
}

const dayMs = 24 * 60 * 60 * 1000;

interface CertificateCheckOptions {
  /** The end of the present certificate; undefined without one. */
  readonly end: () => CertificateEnd | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** certificateCheck logs that the certificate of a listener ends soon or has ended: at the start, once a day, and when it is asked to. */
export function certificateCheck({ end, log, clock }: CertificateCheckOptions): Task {
  return new Task({
    clock,
    everyMs: dayMs,
    firstMs: 0,
    run() {
      const present = end();
      const state = present && certificateState(present, clock.now());
      if (state === undefined) return;
      const event = state.hasExpired ? "certificate.expired" : "certificate.expiring";
      log.event(event, `the certificate ${state.text}`, { expires: state.expires });
    },
  });
}

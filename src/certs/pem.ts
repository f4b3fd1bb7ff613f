import { createPrivateKey, X509Certificate } from "node:crypto";

/** KeyPair is a certificate chain and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** StoredCertificate is a certificate that can be used. Times are Unix milliseconds. */
export interface StoredCertificate extends KeyPair {
  readonly serial: string;
  readonly issuer: string;
  readonly from: number;
  readonly until: number;
}

const keyForm = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----/;
const certificateForm = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** `readStored` returns the certificate in a text of a private key and its chain; undefined if they do not belong together. */
export function readStored(text: string, name: string): StoredCertificate | undefined {
  const [key] = keyForm.exec(text) ?? [];
  const chain = text.match(certificateForm);
  if (key === undefined || chain === null) return undefined;
  try {
    const leaf = new X509Certificate(chain[0]);
    if (
      !leaf.checkPrivateKey(createPrivateKey(key)) ||
      leaf.checkHost(name.replace("*", "any")) === undefined
    )
      return undefined;
    return {
      key: `${key}\n`,
      cert: `${chain.join("\n")}\n`,
      serial: leaf.serialNumber,
      issuer: issuerOf(leaf),
      from: Date.parse(leaf.validFrom),
      until: Date.parse(leaf.validTo),
    };
  } catch {
    return undefined;
  }
}

/** The name of the certificate authority, for people. */
function issuerOf({ issuer }: X509Certificate): string {
  const parts = new Map(issuer.split("\n").map((line) => line.split("=", 2) as [string, string]));
  return parts.get("O") ?? parts.get("CN") ?? issuer;
}

/** `replacedId` returns the identifier of a certificate for RFC 9773: its authority's key and its serial number. */
export async function replacedId({ cert }: KeyPair): Promise<string | undefined> {
  const x509 = await import("@peculiar/x509");
  const leaf = new x509.X509Certificate(cert.match(certificateForm)?.[0] ?? cert);
  const { keyId } = leaf.getExtension(x509.AuthorityKeyIdentifierExtension) ?? {};
  if (keyId === undefined) return undefined;
  const serial = Buffer.from(
    leaf.serialNumber.padStart(leaf.serialNumber.length + (leaf.serialNumber.length % 2), "0"),
    "hex",
  );
  // As in DER: a number whose first bit is set has a zero byte before it.
  const signed = (serial[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), serial]) : serial;
  return `${Buffer.from(keyId, "hex").toString("base64url")}.${signed.toString("base64url")}`;
}

const yearMs = 365 * 24 * 3600 * 1000;

/** `selfSigned` makes a certificate that no client trusts: a TLS listener needs one before the first real one is there. */
export async function selfSigned(name: string, nowMs: number): Promise<KeyPair> {
  const x509 = await import("@peculiar/x509");
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name.slice(0, 64)] }, { O: ["node-server: waiting for a certificate"] }],
      notBefore: new Date(nowMs - 24 * 3600 * 1000),
      notAfter: new Date(nowMs + yearMs),
      signingAlgorithm: algorithm,
      keys,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
    },
    crypto,
  );
  const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = key.match(/.{1,64}/g)?.join("\n") ?? key;
  return {
    cert: `${certificate.toString("pem")}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
  };
}

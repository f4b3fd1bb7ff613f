import { createPrivateKey, X509Certificate } from "node:crypto";
import { Fault, messageOf } from "../../base/fault.ts";
import { readRegularFileSync } from "../../base/read-regular.ts";

/** Tls is a certificate and its private key, both PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** readTls reads a certificate and its key; throws unless both are valid and belong together. */
export function readTls(certPath: string, keyPath: string): Tls {
  const cert = readPem(certPath, "certificate");
  const key = readPem(keyPath, "private key");
  const certificate = parsePem(certPath, "PEM certificate", () => new X509Certificate(cert));
  const privateKey = parsePem(keyPath, "PEM private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Fault(
      "InvalidInput",
      `the private key ${keyPath} does not belong to the certificate ${certPath}`,
      { path: keyPath },
    );
  }
  return { cert, key };
}

function readPem(path: string, what: string): string {
  try {
    return readRegularFileSync(path);
  } catch (error) {
    throw new Fault("IoError", `the ${what} ${path} cannot be read: ${messageOf(error)}`, { path });
  }
}

function parsePem<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Fault("InvalidInput", `${path} is not a ${what}`, { path }, { cause: error });
  }
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { inheritedOwner, makeFolder, readRegularFile } from "../base/local-fs/access.ts";
import { replaceFile } from "../base/local-fs/replace-file.ts";
import type { CertificateRows } from "../db/rows/certificate-rows.ts";
import { OrderFailure } from "./failure.ts";

/** KeyStore keeps private keys with their certificates, and the account at the certificate authority: texts by the name of a file. */
export interface KeyStore {
  read(file: string): Promise<string | undefined>;
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  /** Throws a Fault if what is stored cannot be read with these settings. */
  verify(): Promise<void>;
}

/** `folderStore` keeps keys in files of mode 0600. One node alone can use them. A file that fails is an OrderFailure of its name. */
export function folderStore(folder: string): KeyStore {
  return {
    async read(file) {
      try {
        return await readRegularFile(join(folder, file));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw new OrderFailure("store_failed", `${join(folder, file)} cannot be read: ${messageOf(error)}`);
      }
    },
    async write(file, text) {
      const path = join(folder, file);
      try {
        makeFolder(folder, 0o700);
        await replaceFile(path, text, { mode: 0o600, ...inheritedOwner(path) });
      } catch (error) {
        const why = messageOf(error);
        throw new OrderFailure(
          "store_failed",
          why.includes(path) ? why : `${path} cannot be written: ${why}`,
        );
      }
    },
    async remove(file) {
      const path = join(folder, file);
      try {
        await rm(path, { force: true });
      } catch (error) {
        throw new OrderFailure("store_failed", `${path} cannot be removed: ${messageOf(error)}`);
      }
    },
    async verify() {},
  };
}

const ivBytes = 12;
const tagBytes = 16;

/** `sealedStore` keeps keys in the database for all nodes, encrypted with the secret of the configuration. */
export function sealedStore(rows: Pick<CertificateRows, "keys">, secret: string): KeyStore {
  const key = keyOf(secret);
  return {
    async read(file) {
      const sealed = await rows.keys.get(file);
      return sealed === undefined ? undefined : open(key, file, sealed);
    },
    write: (file, text) => rows.keys.put(file, seal(key, file, text)),
    async remove(file) {
      await rows.keys.delete(file);
    },
    verify: async () => assertOpens(secret, await rows.keys.list()),
  };
}

/** `assertOpens` throws a Fault unless a secret opens all of these rows, which have the names of files. */
export function assertOpens(secret: string, rows: ReadonlyMap<string, string>): void {
  const key = keyOf(secret);
  for (const [file, sealed] of rows) open(key, file, sealed);
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "node-server certificates", 32));
}

/** AES-256-GCM; the name of the file is authenticated, so that one row cannot take the place of another. */
function seal(key: Buffer, file: string, text: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(file));
  const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), content]).toString("base64");
}

function open(key: Buffer, file: string, sealed: string): string {
  try {
    const bytes = Buffer.from(sealed, "base64");
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
      .setAAD(Buffer.from(file))
      .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const content = bytes.subarray(ivBytes + tagBytes);
    return Buffer.concat([decipher.update(content), decipher.final()]).toString("utf8");
  } catch (error) {
    throw new Fault(
      "InvalidInput",
      `the secret of [tls] does not open ${file} in the database; use the secret with which it was written, the same on all nodes. For another secret, run DELETE FROM kv WHERE namespace = 'tls/keys' in the database: a running server then stores its certificates with the new one, and a server that starts orders new ones`,
      {},
      { cause: error },
    );
  }
}

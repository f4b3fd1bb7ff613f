import { readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { ClientError, type NodeServerClient, NotFound, RpcError } from "../../client/index.ts";
import { type Context, stateFolder, writePrivate } from "../context.ts";
import { explainFileError } from "../errors.ts";
import { agoText } from "../terminal/quantities.ts";
import { hashBytes } from "./local-tree.ts";

/** A third of the time for which a lock is valid. */
const renewMs = 20_000;

interface LockSubject {
  readonly bucket: string;
  readonly what: "push" | "deploy";
}

/** LockContext is what the holder of a transfer lock knows, and has to record. */
export interface LockContext {
  /** The deploy that an earlier process of this user filled and did not bring to its end. */
  readonly leftDeploy: string | undefined;
  /** Notes the deploy that this process fills now, or with undefined that it came to its end. */
  readonly remember: (deploy: string | undefined) => Promise<void>;
}

/**
 * withTransferLock runs `work` while this program holds the lock to change a bucket as a whole. Throws before anything is changed if
 * another program holds the lock. A missing bucket is reported by `work`. On the wire the lock is a `lease`.
 */
export async function withTransferLock<T>(
  ctx: Context,
  client: NodeServerClient,
  subject: LockSubject,
  work: (held: LockContext) => Promise<T>,
): Promise<T> {
  const own = new OwnTransferLock(ctx, { server: client.url, bucket: subject.bucket });
  const left = own.unfinished();
  const lease = await acquireTransferLock(client, subject, left?.lease);
  if (lease === undefined) return work({ leftDeploy: undefined, remember: async () => {} });
  let unfinished = left?.deploy;
  const remember: LockContext["remember"] = (deploy) => {
    unfinished = deploy;
    return own.save({ lease, deploy });
  };
  await remember(unfinished);
  const timer = setInterval(() => void renew(), renewMs);
  try {
    return await work({ leftDeploy: left?.deploy, remember });
  } finally {
    clearInterval(timer);
    await client.call("static-bucket_release", { name: subject.bucket, lease }).then(() => {
      if (unfinished === undefined) own.forget();
    }, ignoreRefusal);
  }

  async function renew(): Promise<void> {
    const { bucket: name, what } = subject;
    await client.call("static-bucket_lease", { name, what, lease }).catch((error: unknown) => {
      const other = otherOf(error);
      // The connection was lost for longer than a lock lasts, and somebody else has begun meanwhile.
      if (other !== undefined) ctx.say(`note: ${other}`);
      else ignoreRefusal(error);
    });
  }
}

async function acquireTransferLock(
  client: NodeServerClient,
  { bucket, what }: LockSubject,
  known: string | undefined,
): Promise<string | undefined> {
  try {
    return (await client.call("static-bucket_lease", { name: bucket, what, lease: known })).lease;
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    const other = otherOf(error);
    if (other === undefined) throw error;
    throw new Fault("Other", `${other}; nothing was done. Try again later`, {
      ...(error instanceof RpcError && error.data),
      reason: "in_use",
    });
  }
}

/** Says who else changes the bucket; undefined for any other error. */
function otherOf(error: unknown): string | undefined {
  if (!(error instanceof RpcError) || error.data.reason !== "in_use") return undefined;
  const { by, what, since } = error.data;
  const begun = typeof since === "number" ? `, begun ${agoText(since)}` : "";
  return `the token ${visible(String(by))} is changing this bucket (${visible(String(what))}${begun})`;
}

/** A lock that cannot be renewed or released ends by itself within a minute. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ClientError)) throw error;
}

/** UnfinishedTransfer is what a process that has died could not end. */
interface UnfinishedTransfer {
  readonly lease: string;
  /** The deploy that it was filling. */
  readonly deploy?: string | undefined;
}

interface LockFile extends UnfinishedTransfer {
  readonly host: string;
  readonly pid: number;
}

/**
 * OwnTransferLock remembers the lock of a bucket in the user's state folder. A push that was killed or lost its connection has not
 * released its lock. With the file, the next push of the same user on the same machine need not wait until the lock expires.
 */
class OwnTransferLock {
  readonly #path: string;

  constructor(ctx: Context, subject: { readonly server: string; readonly bucket: string }) {
    const name = hashBytes(new TextEncoder().encode(JSON.stringify(subject))).slice(0, 32);
    this.#path = join(stateFolder(ctx), "leases", `${name}.json`);
  }

  unfinished(): UnfinishedTransfer | undefined {
    try {
      const { lease, deploy, host, pid } = JSON.parse(readFileSync(this.#path, "utf8")) as LockFile;
      return host === hostname() && !isAlive(pid) ? { lease, deploy } : undefined;
    } catch {
      // Without the file, or with a damaged one, the lock expires within a minute.
      return undefined;
    }
  }

  async save(transfer: UnfinishedTransfer): Promise<void> {
    const stored: LockFile = { ...transfer, host: hostname(), pid: process.pid };
    try {
      await writePrivate(this.#path, `${JSON.stringify(stored)}\n`);
    } catch (error) {
      if (explainFileError(error) === undefined) throw error;
    }
  }

  forget(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch (error) {
      if (explainFileError(error) === undefined) throw error;
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

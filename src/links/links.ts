// This folder makes and checks signed links: addresses that open one file, folder, drop box or preview without a
// token, for a while. link-code.ts is the form of a link's code and address. The Links of this file sign a code with a
// key that depends on the token that made it, so that a link ends with its token. Each link has a row in the database, by
// which it is listed, counted and revoked, except previews and links that programs make for themselves. http/links/ and
// http/preview/ answer at the addresses.

import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { type Authenticator, rowAuthorises } from "../auth/authenticator.ts";
import { anonymous, type Caller } from "../auth/caller.ts";
import { noSecretHash } from "../auth/credentials.ts";
import { Denied, inBucket } from "../auth/need.ts";
import { hashPassword, type PasswordCost } from "../auth/passwords.ts";
import { Fault } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
import type { LinkBounds, LinkName, LinkSecret, LinkToken, StoredLink } from "../db/rows/link-rows.ts";
import { aliveMs } from "../db/rows/node-rows.ts";
import type { Logger } from "../log/hub.ts";
import { formatCode, headOf, type LinkFields, type LinkKind, parseCode } from "./link-code.ts";

/** The rows of a bucket's links. */
const maxStored: LinkBounds = { links: 10_000, pathsBytes: 16 * 1024 * 1024 };
/** The longest life of a link. */
export const maxLinkSeconds = 366 * 86_400;
/** The longest life of a link that is not listed. */
export const maxUnlistedSeconds = 86_400;
/** The end of a link that ends with its target and its token alone. Codes have no room for a later one. */
const noEndSeconds = 0xffff_ffff;
const secretBytes = 32;
const idBytes = 12;

/** LinkTarget is the one thing that a link opens, and for what. */
interface LinkTarget extends SignedTarget {
  readonly kind: LinkKind;
  /** Whether it may be one without an end. */
  readonly mayBeEndless?: boolean;
  /** Of an archive: what of the folder is in it, relative to the folder; all of it if undefined. */
  readonly paths?: readonly string[] | undefined;
  /** Of a preview: how often the tree of the deploy has been exchanged. */
  readonly exchanges?: number;
}

/** LinkTerms are the conditions of a new link. */
interface LinkTerms {
  /** Infinity for a link that ends with its target and its token alone: the same caller always gets the same one. */
  readonly expiresInSeconds: number;
  /** How many downloads or uploads it is good for. */
  readonly maxUses?: number | undefined;
  readonly password?: string | undefined;
  /** What its sender says to those who open it. */
  readonly note?: string | undefined;
  /** Whether it has a row that `list` returns. */
  readonly isListed?: boolean;
}

/** MadeLink is a new link: whoever knows its code can use it. */
interface MadeLink {
  readonly code: string;
  /** Unix milliseconds. */
  readonly expires: number;
  /** Names its row, if it has one. */
  readonly id: string | undefined;
}

/** ValidLink is a link that is right, and whose token holds now what it takes. */
export interface ValidLink {
  /** The token that made it. */
  readonly owner: Caller;
  readonly name: LinkName | undefined;
  /** An argon2id hash, if it takes a password. */
  readonly passwordHash: string | undefined;
  readonly isCounted: boolean;
  /** Unix milliseconds. */
  readonly expires: number;
  /** What its sender says to those who open it. */
  readonly note: string | undefined;
  /** Of an archive: what of the folder is in it, relative to the folder; all of it if undefined. */
  readonly paths: readonly string[] | undefined;
  /** Of a preview: how often the tree of the deploy had been exchanged when the link was made. */
  readonly exchanges: number | undefined;
}

/**
 * LinkVerdict is what a link is worth. `unknown` is every link that the server did not make so, or whose token, bucket or rights
 * have ended: nothing tells these apart. The other states are known to whoever was given the link; one that is `used_up` is right
 * in all else.
 */
export type LinkVerdict =
  | { readonly state: "valid"; readonly link: ValidLink }
  | { readonly state: "unknown" | "expired" | "revoked" | "used_up" };

const unknown: LinkVerdict = { state: "unknown" };

interface LinksOptions {
  readonly passwordCost: PasswordCost | undefined;
  /** The part of the key that is outside of the database, or why there is none. */
  readonly key: Buffer | { readonly problem: string };
  readonly serverUuid: string;
  readonly log: Logger;
}

const otherKey = "the link key of this node is not the one that the database belongs to";
const otherKeyAdvice =
  "copy the file of a node that makes links (config.link-key, or link_key_file) to this node and restart it, or run `node-server roll-link-secret` here, which ends all links";

/** Links makes and checks signed links: addresses that open one thing without a token, for a while. */
export class Links {
  readonly #database: Database;
  readonly #options: LinksOptions;
  readonly #fingerprint: string | undefined;
  #hasWarned = false;
  /** Uses that are not written yet, by link. */
  readonly #tallied = new Map<string, { readonly name: LinkName; readonly uses: number }>();
  /** The write that runs, and the one that follows it. */
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(database: Database, options: LinksOptions) {
    this.#database = database;
    this.#options = options;
    this.#fingerprint = options.key instanceof Buffer ? fingerprintOf(options.key) : undefined;
  }

  /** Makes a link in the name of a caller, who must hold what using it takes. It ends with the caller's token at the latest. */
  async make(caller: Caller, target: LinkTarget, terms: LinkTerms): Promise<MadeLink> {
    const { links, tokens } = this.#database;
    const row = await tokens.byKey(caller.key);
    if (row === undefined) throw new Denied("invalid_credentials", "the token was deleted meanwhile");
    const { key, fingerprint } = this.#ownKey();
    const secret = await this.#secretFor(fingerprint);
    const created = this.#database.clock.now();
    const end = Math.min(created + terms.expiresInSeconds * 1000, row.to ?? Number.POSITIVE_INFINITY);
    const { kind, exchanges } = target;
    const hasTerms = [terms.maxUses, terms.password, terms.note, target.paths].some(
      (one) => one !== undefined,
    );
    const id = terms.isListed === true || hasTerms ? randomBytes(idBytes).toString("base64url") : undefined;
    const fields = {
      kind,
      tokenId: row.id,
      expires: Math.min(Math.floor(end / 1000), noEndSeconds),
      id,
      exchanges,
    };
    const expires = fields.expires * 1000;
    if (id !== undefined)
      await this.#store(caller, target, { ...terms, id, created, expires, seal: sealOf(row) });
    const { generation } = await links.state(row.id, { bucketId: target.bucket.id, id: id ?? "" });
    const code = formatCode(fields, macOf({ ...target, fields, secret, key, token: row, generation }));
    return { code, expires, id };
  }

  /** Says what a link is worth now. `bucket` is undefined if there is none of the name; that costs as much as a wrong link. */
  async check(
    text: string,
    {
      bucket,
      ...target
    }: Omit<LinkTarget, "bucket"> & { readonly bucket: SignedTarget["bucket"] | undefined },
    authenticator: Pick<Authenticator, "isStillAuthorised">,
  ): Promise<LinkVerdict> {
    const code = parseCode(text);
    if (code === undefined || code.kind !== target.kind) return unknown;
    const signed = { ...target, bucket: bucket ?? { id: 0, name: "" } };
    const name = { bucketId: signed.bucket.id, id: code.id ?? "" };
    const { secret, generation, token, stored } = await this.#database.links.state(code.tokenId, name);
    const { key } = this.#options;
    const isOwnSecret = secret?.key !== undefined && secret.key === this.#fingerprint;
    if (secret?.key !== undefined && !isOwnSecret) this.#warn();
    const right = macOf({
      ...signed,
      fields: code,
      secret: secret?.secret ?? "",
      key: key instanceof Buffer ? key : noKey,
      token: token ?? noToken,
      generation,
    });
    const isRight = timingSafeEqual(right.subarray(0, code.mac.length), code.mac);
    if (!isRight || !isOwnSecret || token === undefined || bucket === undefined) return unknown;
    const leftMs = code.expires * 1000 - this.#database.clock.now();
    // The server makes no link that is valid for longer: somebody who has the key has made this one.
    if (leftMs > maxLinkSeconds * 1000 && target.mayBeEndless !== true) return unknown;
    if (leftMs <= 0) return { state: "expired" };
    if (code.id !== undefined && stored === undefined) return { state: "revoked" };
    const owner = ownerOf(token);
    if (!(await authenticator.isStillAuthorised(owner, needOf(code, bucket.name)))) return unknown;
    if (isUsedUp(stored)) return { state: "used_up" };
    return {
      state: "valid",
      link: {
        owner,
        name: code.id === undefined ? undefined : name,
        passwordHash: stored?.password,
        isCounted: stored?.max !== undefined,
        expires: code.expires * 1000,
        note: stored?.note,
        paths: stored?.paths,
        exchanges: code.exchanges,
      },
    };
  }

  /** Counts one use of a link. False if it is used up. */
  async count({ name, isCounted }: ValidLink): Promise<boolean> {
    if (name === undefined) return true;
    if (isCounted) return this.#database.links.count(name);
    await this.#tally(name, 1);
    return true;
  }

  /** Takes back what `count` did, for a use that failed. */
  async uncount({ name, isCounted }: ValidLink): Promise<void> {
    if (name === undefined) return;
    if (isCounted) await this.#database.links.uncount(name);
    else await this.#tally(name, -1);
  }

  /**
   * Counts uses of a link without a limit. One write at a time takes what has come meanwhile, so that a link that many people
   * open does not keep the database busy. The link works while the database cannot write.
   */
  #tally(name: LinkName, uses: number): Promise<void> {
    const key = `${name.bucketId} ${name.id}`;
    this.#tallied.set(key, { name, uses: (this.#tallied.get(key)?.uses ?? 0) + uses });
    const previous = this.#writing;
    this.#next ??= (async () => {
      await previous;
      this.#next = undefined;
      this.#writing = this.#writeTallied();
      await this.#writing;
    })();
    return this.#next;
  }

  async #writeTallied(): Promise<void> {
    const all = [...this.#tallied.values()];
    this.#tallied.clear();
    for (const { name, uses } of all) {
      try {
        await this.#database.links.addUses(name, uses);
      } catch (error) {
        this.#options.log.warn("uses of a link could not be counted", {
          link: name.id,
          error: String(error),
        });
      }
    }
  }

  /** The links of a bucket that are listed, by id, each with what it is worth now. */
  async list({ id, name }: SignedTarget["bucket"]): Promise<ReadonlyMap<string, ListedLink>> {
    const { links, tokens, clock } = this.#database;
    const now = clock.now();
    const stored = [...(await links.list(id, now))].filter(([, link]) => link.isUnlisted !== true);
    const makers = await tokens.byKeys(stored.map(([, { by }]) => by));
    return new Map(
      stored.map(([key, link]) => {
        const maker = makers.get(link.by);
        const isBacked =
          maker !== undefined &&
          (link.seal === undefined || link.seal === sealOf(maker)) &&
          rowAuthorises(maker, needOf(link, name), now);
        const state = !isBacked ? "ended" : isUsedUp(link) ? "used_up" : "valid";
        return [key, { ...link, state }];
      }),
    );
  }

  /** Ends a stored link; false if there is none. */
  revoke(name: LinkName): Promise<boolean> {
    return this.#database.links.remove(name);
  }

  /** Makes a new secret, which ends all links of all buckets on all nodes. */
  async rollSecret(): Promise<void> {
    await this.#database.links.ensureSecret(newSecret(this.#ownKey().fingerprint), () => true);
  }

  /** Ends all links of a bucket, stored or not. */
  revokeAll(bucketId: number): Promise<void> {
    return this.#database.links.revokeAll(bucketId);
  }

  /** claimKey makes the key of this node that of the database. Throws if that is another one: what is made with this one would work here alone. */
  async claimKey(): Promise<void> {
    await this.#secretFor(this.#ownKey().fingerprint);
  }

  /** The part of the key that this node has; without it no link can be made. */
  #ownKey(): { readonly key: Buffer; readonly fingerprint: string } {
    const { key } = this.#options;
    if (key instanceof Buffer && this.#fingerprint !== undefined)
      return { key, fingerprint: this.#fingerprint };
    throw new Fault("IoError", "problem" in key ? key.problem : "there is no link key", {
      reason: "no_link_key",
    });
  }

  /**
   * Returns the part of the key that the database keeps. One that belongs to another outside part, as after a backup was restored
   * without it, is replaced; while another node runs it is that node's, and no link can be made here.
   */
  async #secretFor(fingerprint: string): Promise<string> {
    const database = this.#database;
    const { serverUuid } = this.#options;
    const { nowMs, rows } = await database.nodes.list();
    const isAlone = !rows.some(({ uuid, at }) => uuid !== serverUuid && nowMs - at < aliveMs);
    const { secret, key } = await database.links.ensureSecret(
      newSecret(fingerprint),
      (present) => present.key === undefined || (present.key !== fingerprint && isAlone),
    );
    if (key === fingerprint) return secret;
    this.#warn();
    throw new Fault("Other", `${otherKey}; ${otherKeyAdvice}`, { reason: "other_link_key" });
  }

  /** Warns if the link key of this node is not the one that the database belongs to, or if it has none. */
  async examine(): Promise<void> {
    const { key, log } = this.#options;
    if ("problem" in key) {
      log.event("links.no_key", `signed links cannot be made or used: ${key.problem}`, {});
      return;
    }
    const { secret } = await this.#database.links.state(0, { bucketId: 0, id: "" });
    if (secret?.key !== undefined && secret.key !== this.#fingerprint) this.#warn();
  }

  /** Says once that links of other nodes do not work here. */
  #warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.event(
      "links.other_key",
      `${otherKey}: links that were made there do not work here; ${otherKeyAdvice}`,
      {},
    );
  }

  async #store(
    { key }: Caller,
    { bucket, kind, path, paths }: LinkTarget,
    { id, created, expires, seal, ...terms }: Omit<LinkTerms, "expiresInSeconds"> & StoredFacts,
  ): Promise<void> {
    if (kind === "preview") throw new TypeError("a preview has no row");
    const { maxUses, password, note, isListed } = terms;
    const link: StoredLink = {
      kind,
      path,
      by: key,
      created,
      expires,
      used: 0,
      seal,
      ...(isListed === true ? {} : { isUnlisted: true }),
      ...(paths === undefined ? {} : { paths, pathsBytes: Buffer.byteLength(JSON.stringify(paths)) }),
      ...(maxUses === undefined ? {} : { max: maxUses }),
      ...(note === undefined ? {} : { note }),
      ...(password === undefined
        ? {}
        : { password: await hashPassword(password, this.#options.passwordCost) }),
    };
    if (await this.#database.links.insert({ bucketId: bucket.id, id }, link, maxStored)) return;
    throw new Fault(
      "InvalidInput",
      `the bucket has ${maxStored.links} links, or too many selected paths; revoke some, or make links for programs with \`listed: false\``,
      { reason: "too_many_links", limit: maxStored.links },
    );
  }
}

interface StoredFacts {
  readonly id: string;
  readonly created: number;
  readonly expires: number;
  readonly seal: string;
}

/**
 * ListedLink is a link as `list` returns it. `ended` are those whose token was deleted, has got another secret or password, or lost the
 * permission.
 */
interface ListedLink extends StoredLink {
  readonly state: "valid" | "used_up" | "ended";
}

function newSecret(fingerprint: string): LinkSecret {
  return { secret: randomBytes(secretBytes).toString("base64"), key: fingerprint };
}

/** Takes the place of a key that this node does not have. */
const noKey = Buffer.alloc(32);

/** Takes the place of a token that does not exist, so that a link of it costs as much as another. */
const noToken: ProofHashes = {
  secretHash: noSecretHash,
  passwordHash: null,
};

/** The owner as its row shows it: whoever checks the owner reads the rights again. */
function ownerOf({ key, secretHash }: LinkToken): Caller {
  return { ...anonymous, key, proof: secretHash };
}

function needOf({ kind }: Pick<LinkFields, "kind">, bucket: string) {
  if (kind === "zip") return inBucket(bucket, "static_bucket_file.read", "static_bucket_file.list");
  return inBucket(bucket, kind === "upload" ? "static_bucket_file.write" : "static_bucket_file.read");
}

function isUsedUp(stored: StoredLink | undefined): boolean {
  return stored?.max !== undefined && stored.used >= stored.max;
}

/** SignedTarget is the one thing that a link opens. */
interface SignedTarget {
  readonly bucket: { readonly id: number; readonly name: string };
  /** Of the file or folder in the bucket; of a preview the deploy's id. */
  readonly path: string;
}

/** MacInput is all that the MAC of a link depends on. */
interface MacInput extends SignedTarget {
  readonly fields: LinkFields;
  /** The part of the key that the database keeps, in base64. */
  readonly secret: string;
  /** The part that is outside of it. */
  readonly key: Buffer;
  readonly token: ProofHashes;
  readonly generation: number;
}

/**
 * `macOf` returns the MAC of a link. Its key is derived from both parts of the server's secret and the hashes of the token's secret and
 * password, so it differs as soon as one of them does; none of them can be told from a link.
 */
export function macOf({ fields, secret, key: outside, token, generation, bucket, path }: MacInput): Buffer {
  const key = Buffer.from(
    hkdfSync(
      "sha256",
      Buffer.concat([Buffer.from(secret, "base64"), outside]),
      saltOf(token),
      "node-server links 2",
      32,
    ),
  );
  return createHmac("sha256", key)
    .update(headOf(fields))
    .update(JSON.stringify([bucket.id, bucket.name, generation, path]))
    .digest();
}

/** fingerprintOf names the part of the key that is outside of the database, there. It says nothing about the key. */
function fingerprintOf(key: Buffer): string {
  return Buffer.from(hkdfSync("sha256", key, "", "node-server link key", 12)).toString("base64url");
}

type ProofHashes = Pick<LinkToken, "secretHash" | "passwordHash">;

function saltOf({ secretHash, passwordHash }: ProofHashes): string {
  return JSON.stringify([secretHash, passwordHash]);
}

/** sealOf names the secret and the password that a token had when it made a link. It says nothing about them. */
function sealOf(token: ProofHashes): string {
  return Buffer.from(hkdfSync("sha256", saltOf(token), "", "node-server link seal", 12)).toString(
    "base64url",
  );
}

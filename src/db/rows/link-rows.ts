import { type SqlBool, sql } from "kysely";
import { Collection, Collections, type Condition } from "../collection.ts";
import type { Dialect } from "../dialect.ts";

/** `secretNamespace` is the namespace of one row: the part of the key of all signed links that the database keeps. */
const secretNamespace = "links";
const secretKey = "secret";
const generationKey = "generation";
const linksPrefix = `${secretNamespace}/`;

/** `linksNamespace` returns the namespace of a bucket's stored links, by id, and of the generation of all its links. */
export function linksNamespace(bucketId: number): string {
  return linksPrefix + bucketId;
}

/** StoredLink is the row of a link. Times are Unix milliseconds. */
export interface StoredLink {
  readonly kind: "download" | "upload" | "zip";
  /** Of a selection the folder that contains all of it. */
  readonly path: string;
  /** What was selected in the folder, relative to it. */
  readonly paths?: readonly string[];
  /** The bytes of `paths` as JSON. */
  readonly pathsBytes?: number;
  /** The key of the token that made it. */
  readonly by: string;
  readonly created: number;
  readonly expires: number;
  /** An argon2id hash. */
  readonly password?: string;
  /** What its sender says to those who open it. */
  readonly note?: string;
  /** How often it can be used; without it, always. */
  readonly max?: number;
  readonly used: number;
  /** Names the secret and the password that its token had; undefined in rows that an older version wrote. */
  readonly seal?: string;
  /** A program has made it for itself. */
  readonly isUnlisted?: true;
}

/** LinkToken is what a link depends on of the token that made it. */
export interface LinkToken {
  readonly id: number;
  readonly key: string;
  readonly secretHash: string;
  readonly passwordHash: string | null;
}

/** LinkSecret is a part of the key of all signed links, and names the other part, which is outside of the database. */
export interface LinkSecret {
  /** In base64. */
  readonly secret: string;
  /** The fingerprint of the other part; undefined if a version wrote it that had none. */
  readonly key?: string;
}

/** LinkState is what the database says about a link, read by one statement. */
interface LinkState {
  /** Undefined if no link was ever made. */
  readonly secret: LinkSecret | undefined;
  /** How often all links of the bucket were revoked. */
  readonly generation: number;
  readonly token: LinkToken | undefined;
  readonly stored: StoredLink | undefined;
}

/** LinkBounds are how much the stored links of a bucket may be. */
export interface LinkBounds {
  readonly links: number;
  /** Of all selections together. */
  readonly pathsBytes: number;
}

/** LinkName names the row of a stored link. */
export interface LinkName {
  readonly bucketId: number;
  readonly id: string;
}

const isLink: Condition = sql<SqlBool>`key <> ${generationKey}`;

/** LinkRows are the rows behind signed links. */
export class LinkRows {
  readonly #dialect: Dialect;
  readonly #secrets: Collection<LinkSecret>;
  /** By the id of the bucket. */
  readonly #links: Collections<StoredLink>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#secrets = new Collection(dialect, secretNamespace);
    this.#links = new Collections(dialect, linksPrefix);
  }

  /** Reads all that decides about a link. The token's limits are not read: their size would show in the time that a wrong link takes. */
  async state(tokenId: number, { bucketId, id }: LinkName): Promise<LinkState> {
    const value = (namespace: string, key: string) =>
      sql<unknown>`(select value from kv where namespace = ${namespace} and key = ${key})`;
    const ofToken = (column: "token_key" | "token_hash" | "password_hash") =>
      sql<string | null>`(select ${sql.ref(column)} from token where id = ${tokenId})`.as(column);
    const own = linksNamespace(bucketId);
    const row = await this.#dialect.query
      .selectNoFrom([
        value(secretNamespace, secretKey).as("secret"),
        value(own, generationKey).as("generation"),
        value(own, id).as("stored"),
        ofToken("token_key"),
        ofToken("token_hash"),
        ofToken("password_hash"),
      ])
      .executeTakeFirst();
    const read = <T>(json: unknown) => (json == null ? undefined : (this.#dialect.fromJson(json) as T));
    return {
      secret: read<LinkSecret>(row?.secret),
      generation: read<{ generation: number }>(row?.generation)?.generation ?? 0,
      stored: id === generationKey ? undefined : read<StoredLink>(row?.stored),
      token:
        row?.token_key == null || row.token_hash === null
          ? undefined
          : {
              id: tokenId,
              key: row.token_key,
              secretHash: row.token_hash,
              passwordHash: row.password_hash,
            },
    };
  }

  /**
   * Stores `next` if there is no secret, or `mayReplace` allows it for the one that is stored, and returns the one that is stored
   * then: of nodes that begin at once, all get the same.
   */
  ensureSecret(next: LinkSecret, mayReplace: (present: LinkSecret) => boolean): Promise<LinkSecret> {
    return this.#secrets.exclusively(async (secrets, transaction) => {
      const present = await secrets.get(secretKey);
      if (present !== undefined && !mayReplace(present)) return present;
      await secrets.put(secretKey, next);
      // Links of the previous secret have ended.
      if (present !== undefined) await this.#links.deleteAll(isLink, transaction);
      return next;
    });
  }

  /** Stores a link and removes expired ones. False if the bucket would have more than `max` of those that are not. */
  insert({ bucketId, id }: LinkName, link: StoredLink, max: LinkBounds): Promise<boolean> {
    return this.#links.of(bucketId).exclusively(async (links) => {
      await links.deleteWhere(this.#isExpired(link.created));
      const { count, bytes } = await links.sums({
        count: sql`count(*) filter (where ${isLink})`,
        bytes: sql`sum(${this.#dialect.jsonInteger("value", "pathsBytes")}) filter (where ${isLink})`,
      });
      if (count >= max.links || bytes + (link.pathsBytes ?? 0) > max.pathsBytes) return false;
      await links.insert(id, link);
      return true;
    });
  }

  /** Returns the stored links of a bucket by id, without those that have expired by `now`, which are removed. */
  list(bucketId: number, now: number): Promise<ReadonlyMap<string, StoredLink>> {
    return this.#dialect.transact(async (transaction) => {
      const links = this.#links.of(bucketId, transaction);
      await links.deleteWhere(this.#isExpired(now));
      return links.list({ where: isLink });
    });
  }

  /** Counts one use. False if the link has been used as often as it may be, or was revoked. */
  async count({ bucketId, id }: LinkName): Promise<boolean> {
    const { jsonInteger, addToJson } = this.#dialect;
    const isUnused = sql<SqlBool>`key = ${id} and ${jsonInteger("value", "used")} < ${jsonInteger("value", "max")}`;
    return (await this.#links.of(bucketId).patch(addToJson("value", "used", 1), isUnused)) > 0;
  }

  /** Takes back what `count` did, for a use that failed. */
  async uncount({ bucketId, id }: LinkName): Promise<void> {
    const { jsonInteger, addToJson } = this.#dialect;
    const isUsed = sql<SqlBool>`key = ${id} and ${jsonInteger("value", "used")} > 0`;
    await this.#links.of(bucketId).patch(addToJson("value", "used", -1), isUsed);
  }

  /** Counts uses of a link that has no limit. */
  async addUses({ bucketId, id }: LinkName, uses: number): Promise<void> {
    const isLinkOfId = sql<SqlBool>`key = ${id}`;
    await this.#links.of(bucketId).patch(this.#dialect.addToJson("value", "used", uses), isLinkOfId);
  }

  /** Removes a stored link; false if there is none. */
  async remove({ bucketId, id }: LinkName): Promise<boolean> {
    return id !== generationKey && (await this.#links.of(bucketId).delete(id)) > 0;
  }

  /** Begins a new generation, which makes every link of the bucket invalid, and removes the stored ones. */
  async revokeAll(bucketId: number): Promise<void> {
    await this.#links.of(bucketId).exclusively(async (links, transaction) => {
      await links.deleteWhere(isLink);
      const generations = new Collection<{ generation: number }>(
        this.#dialect,
        linksNamespace(bucketId),
        transaction,
      );
      const { generation } = (await generations.get(generationKey)) ?? { generation: 0 };
      await generations.put(generationKey, { generation: generation + 1 });
    });
  }

  #isExpired(now: number): Condition {
    return sql<SqlBool>`${this.#dialect.jsonInteger("value", "expires")} <= ${now}`;
  }
}

// This folder gets certificates from a certificate authority (ACME, RFC 8555) and renews them. The Certificates of this
// file decides which names need one and when; one node of all that share a database orders, and every node loads what is
// stored. authority.ts speaks ACME by the library acme-client, challenges.ts proves that a name is ours, key-store.ts
// keeps private keys, pem.ts reads and makes certificates, schedule.ts says what is due, failure.ts names why there is
// no certificate and what to do.

import { createHash } from "node:crypto";
import { type Clock, systemClock } from "../base/clock.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import type { Database } from "../db/database.ts";
import type { CertificateRows, ChallengeValue, NameValue } from "../db/rows/certificate-rows.ts";
import { isUnavailable } from "../db/unavailable.ts";
import type { Logger } from "../log/hub.ts";
import { quietly } from "../log/span.ts";
import { type Answerer, Authority, type AuthoritySettings, type Begun } from "./authority.ts";
import { hookAnswerer, httpAnswerer, type Reach } from "./challenges.ts";
import { advice, type FailureReason, OrderFailure, toFailure } from "./failure.ts";
import { folderStore, type KeyStore, sealedStore } from "./key-store.ts";
import { type KeyPair, readStored, replacedId, type StoredCertificate, selfSigned } from "./pem.ts";
import {
  afterAnswer,
  afterFailure,
  afterIssue,
  afterOrder,
  type DueName,
  dueNames,
  isInForce,
  limitOf,
} from "./schedule.ts";

/** The longest time after which a certificate of another node, or a host name that nobody told of, is noticed. */
const refreshMs = 10_000;
/** Certificates that are ordered at the same time. */
const maxOrdersAtOnce = 4;
/** An order that has taken longer was of a node that is gone. */
const maxIssuingMs = 5 * 60_000;
/** The lock of the node that orders is renewed while it does, and free this long after it was killed. */
const lockMs = 30_000;
const lockName = "certificates";
/** Answers to challenges are read at most this often, for all who ask: anybody can ask. */
const challengeReadMs = 100;
/** A file is written under a longer name first, and file systems take 255 bytes. */
const maxFileName = 200;

/** CertificateSettings are what `[tls] auto` needs. */
export interface CertificateSettings extends AuthoritySettings {
  readonly serverName: string | undefined;
  /** The names of the server itself, `serverName` among them. */
  readonly names: readonly string[];
  /** The program that changes the DNS; without it, proofs are made over http. */
  readonly dnsHook: string | undefined;
  /** Keys are encrypted with it in the database; without it they are files in `folder`. */
  readonly secret: string | undefined;
  /** The folder of keys beside the file of SQLite; undefined with PostgreSQL. */
  readonly folder: string | undefined;
  /** Where the database is: what is stored there is read again when that changes. */
  readonly databaseUrl: string;
}

/** CertificateSet is what a TLS listener uses: it chooses by the name that a client asks for. */
export interface CertificateSet {
  /** For clients that ask for no name, or for one without a certificate. */
  readonly fallback: KeyPair;
  readonly named: ReadonlyMap<string, StoredCertificate>;
}

/** CertificateState is one name, as callers see it. Times are Unix milliseconds. */
export interface CertificateState {
  readonly name: string;
  /** Whose name it is. */
  readonly of: "server" | "bucket";
  readonly state: "waiting" | "issuing" | "issued" | "failed";
  readonly issuer: string | null;
  readonly from: number | null;
  readonly until: number | null;
  readonly renew_at: number | null;
  /** Why the last attempt failed; null since one succeeded. */
  readonly problem: {
    readonly reason: string;
    readonly detail: string;
    readonly advice: string;
    readonly at: number;
    readonly retry_at: number;
  } | null;
}

interface CertificatesOptions {
  /** The present database, kept open until it is released. */
  readonly acquire: () => { readonly database: Database; release(): void };
  /** The database of a reload that is under way; undefined if it keeps the present one. */
  readonly upcoming: () => Database | undefined;
  /** Called when other certificates are in force. */
  readonly onChanged: () => Promise<void>;
  /** What clients are shown now; undefined while nothing listens with these certificates. */
  readonly shown: () => Pick<CertificateSet, "named"> | undefined;
  /** For tests: where names lead. */
  readonly reach?: Reach | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** What one configuration uses. */
interface Active {
  readonly settings: CertificateSettings;
  readonly authority: Authority;
  /** Makes what is shown until there is a certificate for the server's own name. */
  readonly placeholder: () => Promise<KeyPair>;
  /** Problems from before are of another account or another authority: the names are tried again. 0 if there are none. */
  forgetsBefore: number;
}

/**
 * Certificates keeps a certificate for the server's own name and for every host name of an enabled bucket. Whatever fails, a certificate
 * that is in force stays in force. It has more than 15 methods because what is in memory, in the store and shown to clients changes
 * together, at the end of an order, at a reload and when another node has stored something.
 */
export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #holder = randomText(16);
  readonly #refreshes: Task;
  readonly #orders: Task;
  #active: Active | undefined;
  /** The certificates in memory, also of names that are not wanted at the moment. */
  readonly #loaded = new Map<string, StoredCertificate>();
  /** Names of those that the present store does not have: it could not be written, or a reload has changed it. */
  readonly #unstored = new Set<string>();
  /** Keys of accounts in use, by the names of their files: a store that lacks them gets them. */
  readonly #accountKeys = new Map<string, string>();
  /** Where those in memory are stored; also while the server orders none. */
  #storedBy: CertificateSettings | undefined;
  #set: CertificateSet | undefined;
  /** Those of a reload that is under way. Its listener is bound before anything is in force. */
  #prepared: CertificateSet | undefined;
  /** False while the listener that the authority asks is not bound. */
  #isStarted = false;
  /** Why certificates could not be loaded or ordered the last time. */
  readonly #failures = new Map<Work, string>();
  /** The next read of the answers to challenges, for all requests that come before it begins. */
  #nextAnswers: Promise<ReadonlyMap<string, ChallengeValue>> | undefined;
  #answersReadAt = Number.NEGATIVE_INFINITY;

  constructor(options: CertificatesOptions) {
    this.#options = options;
    const { clock } = options;
    this.#refreshes = new Task({
      clock,
      everyMs: refreshMs,
      firstMs: 0,
      run: () => quietly(() => this.#refresh()),
      failed: (error) => this.#report("load", error),
    });
    this.#orders = new Task({
      clock,
      lease: this.#lease(),
      run: (signal) => this.#order(signal),
      failed: (error) => this.#report("order", error),
    });
  }

  /** The certificates in force; undefined without `[tls] auto`. */
  get set(): CertificateSet | undefined {
    return this.#prepared ?? this.#set;
  }

  /** The certificate in force that ends first; undefined if there is none. */
  get first(): Pick<StoredCertificate, "from" | "until"> | undefined {
    return [...(this.#set?.named.values() ?? [])].toSorted((a, b) => a.until - b.until)[0];
  }

  /** Opens what a configuration needs, beside what is in force. */
  async prepare(settings: CertificateSettings | undefined): Promise<{ commit(): void; discard(): void }> {
    if (settings === undefined) {
      return {
        commit: () => {
          this.#active = undefined;
          this.#set = undefined;
        },
        discard() {},
      };
    }
    const { clock } = this.#options;
    let made: Promise<KeyPair> | undefined;
    const placeholder = () => {
      made ??= selfSigned(settings.serverName ?? "localhost", clock.now());
      return made;
    };
    const authority = new Authority(settings, () =>
      this.#withDatabase((database) => this.#accountKey(settings, database)),
    );
    const active: Active = { settings, authority, placeholder, forgetsBefore: 0 };
    const open = async (database: Database) => {
      await storeOf(settings, database.certificates).verify();
      return this.#load(active, database);
    };
    const upcoming = this.#options.upcoming();
    const first = await (upcoming === undefined ? this.#withDatabase(open) : open(upcoming));
    this.#prepared = first;
    return {
      commit: () => {
        this.#prepared = undefined;
        const before = this.#active;
        if (before !== undefined)
          active.forgetsBefore = ordersAlike(before.settings, settings)
            ? before.forgetsBefore
            : clock.now() + 1;
        if (this.#storedBy !== undefined && !storesAlike(this.#storedBy, settings))
          for (const name of this.#loaded.keys()) this.#unstored.add(name);
        this.#storedBy = settings;
        this.#active = active;
        this.#show(first);
        this.refreshSoon();
      },
      discard: () => {
        this.#prepared = undefined;
        // A certificate that was renewed meanwhile has let the listener take these.
        if (this.#options.shown() === first) this.#bindAnew(() => {});
      },
    };
  }

  /** Begins to search for names without a certificate. */
  start(): void {
    this.#isStarted = true;
    this.#refreshes.start();
  }

  /** Refreshes at once: the host names of a bucket, or a certificate, have changed. */
  refreshSoon(): void {
    if (this.#isStarted) this.#refreshes.dueIn(0);
  }

  /** Returns the answer to a challenge of the certificate authority; undefined if none is expected. */
  async answerTo(token: string): Promise<string | undefined> {
    if (this.#active === undefined) return undefined;
    this.#nextAnswers ??= this.#readAnswers();
    const found = (await this.#nextAnswers).get(token);
    return found !== undefined && found.until > this.#options.clock.now() ? found.answer : undefined;
  }

  async #readAnswers(): Promise<ReadonlyMap<string, ChallengeValue>> {
    // It bounds what strangers can ask of the database.
    await systemClock.sleep(this.#answersReadAt + challengeReadMs - systemClock.monotonic());
    this.#nextAnswers = undefined;
    this.#answersReadAt = systemClock.monotonic();
    return this.#withDatabase(({ certificates }) => certificates.challenges.list());
  }

  /** Lists the names, sorted; empty without `[tls] auto`. */
  async list(): Promise<CertificateState[]> {
    const active = this.#active;
    if (active === undefined) return [];
    return this.#withDatabase(async (database) => {
      const rows = await database.certificates.names.list();
      const names = await wantedNames(active.settings, database);
      return [...names].sort().map((name) => this.#stateOf(active, name, rows.get(name)));
    });
  }

  /** Orders a new certificate for a name soon. */
  async renew(name: string): Promise<CertificateState> {
    const active = this.#active;
    if (active === undefined)
      throw new Fault("InvalidInput", "the server orders no certificates; set auto = true in [tls]");
    return this.#withDatabase(async (database) => {
      if (!(await wantedNames(active.settings, database)).has(name))
        throw new Fault(
          "NotFound",
          `${name} is neither a name of the server nor a host name of an enabled bucket`,
        );
      const now = this.#options.clock.now();
      const limit = limitOf(name, await database.certificates.names.list(), now);
      if (limit !== undefined) {
        const at = new Date(limit.until).toISOString();
        throw new Fault("InvalidInput", `${limit.text}; the server orders none until ${at}`, {
          reason: "limited_here",
          retry_at: limit.until,
        });
      }
      const row = await database.certificates.change(name, (row) => ({ ...row, asked: true }));
      this.refreshSoon();
      return this.#stateOf(active, name, row);
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#refreshes.close(), this.#orders.close()]);
  }

  #lease() {
    // One process alone uses a SQLite file: the lock that it finds there is that of its predecessor.
    const locks = <T>(work: (locks: Database["taskLocks"], holder: string) => Promise<T>) =>
      this.#withDatabase(({ taskLocks, kind }) => work(taskLocks, kind === "sqlite" ? kind : this.#holder));
    return {
      acquire: () => locks((locks, holder) => locks.acquire(lockName, { holder, lockMs, everyMs: 0 })),
      renew: () => locks((locks, holder) => locks.renew(lockName, { holder, lockMs })),
      release: ({ isDone }: { readonly isDone: boolean }) =>
        locks((locks, holder) => locks.release(lockName, holder, { isDone })),
      renewEveryMs: lockMs / 3,
      lost: () => new Fault("Other", "another node orders the certificates now"),
    };
  }

  /** Logs why certificates cannot be managed: once, until they can be. */
  #report(work: Work, error: unknown): void {
    const { log } = this.#options;
    const reason = error instanceof Fault ? error.detail : messageOf(error);
    if (isUnavailable(error)) log.debug("certificates wait for the database", { reason });
    if (isUnavailable(error) || reason === this.#failures.get(work)) return;
    this.#failures.set(work, reason);
    log.event("certificates.failed", "certificates cannot be managed; those in force stay", { reason });
  }

  async #withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const { database, release } = this.#options.acquire();
    try {
      return await work(database);
    } finally {
      release();
    }
  }

  /** Puts in force what any node has stored, and lets orders begin where one is due. */
  async #refresh(): Promise<void> {
    const active = this.#active;
    if (active === undefined) return;
    await this.#withDatabase(async (database) => {
      await this.#putInForce(active, database);
      this.#failures.delete("load");
      await this.#forgetProblems(active, database);
      if ((await this.#due(active, database)).length > 0) this.#orders.dueIn(0);
      else this.#failures.delete("order");
    });
  }

  async #putInForce(active: Active, database: Database): Promise<void> {
    const next = await this.#load(active, database);
    if (this.#active === active) this.#show(next);
  }

  /** Forgets what went wrong with settings that are no longer in force. */
  async #forgetProblems(active: Active, { certificates }: Database): Promise<void> {
    const { forgetsBefore } = active;
    if (forgetsBefore === 0) return;
    const isOld = ({ problem }: NameValue) => problem !== undefined && problem.at < forgetsBefore;
    for (const [name, row] of await certificates.names.list())
      if (isOld(row))
        await certificates.change(name, (row) => (isOld(row) ? { ...row, problem: undefined } : row));
    active.forgetsBefore = 0;
  }

  /** Lets the listeners show other certificates. */
  #show(next: CertificateSet): void {
    const previous = this.#set;
    if (isSame(previous, next)) return;
    this.#set = next;
    if (previous === undefined) return;
    this.#bindAnew(() => {
      // The next refresh tries again.
      if (this.#set === next) this.#set = previous;
    });
  }

  #bindAnew(failed: () => void): void {
    this.#options.onChanged().then(
      () => this.#failures.delete("show"),
      (error: unknown) => {
        failed();
        this.#report("show", error);
      },
    );
  }

  /** Loads the certificates of all wanted names, those from the store that are not in memory. */
  async #load({ settings, placeholder }: Active, database: Database): Promise<CertificateSet> {
    const rows = await database.certificates.names.list();
    const named = new Map<string, StoredCertificate>();
    for (const name of await wantedNames(settings, database)) {
      const { serial } = rows.get(name)?.certificate ?? {};
      let found = this.#loaded.get(name);
      const isOther = serial !== undefined && found?.serial !== serial && !this.#unstored.has(name);
      if (found === undefined || isOther) {
        found = (await this.#read(settings, name, database.certificates)) ?? found;
        if (found !== undefined) this.#loaded.set(name, found);
      }
      if (found !== undefined) named.set(name, found);
    }
    return { fallback: named.get(settings.serverName ?? "") ?? (await placeholder()), named };
  }

  /**
   * Reads the certificate of a name. What is wrong with one file must not keep the others from their certificates; an order says it. A
   * server that got its secret later still has files.
   */
  async #read(
    settings: CertificateSettings,
    name: string,
    certificates: CertificateRows,
  ): Promise<StoredCertificate | undefined> {
    const { secret, folder } = settings;
    const from = async (store: KeyStore) => {
      try {
        return readStored((await store.read(fileOf(name))) ?? "", name);
      } catch (error) {
        if (error instanceof OrderFailure) return undefined;
        throw error;
      }
    };
    const stored = await from(storeOf(settings, certificates));
    if (stored !== undefined || secret === undefined || folder === undefined) return stored;
    const left = await from(folderStore(folder));
    // A file that was left when the secret came may be of long ago.
    if (!isInForce(left, this.#options.clock.now())) return undefined;
    this.#unstored.add(name);
    return left;
  }

  async #due({ settings }: Active, database: Database): Promise<DueName[]> {
    const rows = await database.certificates.names.list();
    const names = await wantedNames(settings, database);
    const present = { names, rows, loaded: this.#loaded, unstored: this.#unstored };
    return dueNames(present, this.#options.clock.now());
  }

  /** Does what is due. Only the node that holds the lock does. */
  async #order(signal: AbortSignal): Promise<unknown> {
    const active = this.#active;
    if (active === undefined) return undefined;
    return this.#withDatabase(async (database) => {
      const { certificates } = database;
      await certificates.clearChallenges(this.#options.clock.now());
      const due = await this.#due(active, database);
      const queue = due.values();
      const failures: unknown[] = [];
      const work = async () => {
        for (const one of queue) {
          signal.throwIfAborted();
          await this.#do(active, { ...one, database, signal }).catch((error: unknown) => {
            // What fails for one name says nothing about the others.
            if (signal.aborted || isUnavailable(error)) throw error;
            failures.push(error);
          });
        }
      };
      // A name and its wildcard have the same record in the DNS, and a hook may know one value at a time.
      const atOnce = active.settings.dnsHook === undefined ? maxOrdersAtOnce : 1;
      const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, due.length) }, work));
      for (const one of ended) if (one.status === "rejected") throw one.reason;
      if (failures.length > 0) throw failures[0];
      this.#failures.delete("order");
      return undefined;
    });
  }

  #do(active: Active, one: OneName & DueName): Promise<void> {
    const { name, row, what, database } = one;
    if (what === "order") return this.#orderOne(active, { ...one, isAsked: row.asked === true });
    if (what === "ask") return this.#ask(active, one);
    if (what === "adopt") return this.#adopt(active, name, database.certificates);
    return this.#forget(active, name, database.certificates);
  }

  async #orderOne(
    active: Active,
    { name, database, signal, isAsked }: OneName & { readonly isAsked: boolean },
  ): Promise<void> {
    const { certificates, notifications } = database;
    const { clock, log, reach } = this.#options;
    const { settings, authority } = active;
    const answerer: Answerer =
      settings.dnsHook === undefined
        ? httpAnswerer(certificates, { nowMs: () => clock.now(), reach })
        : hookAnswerer(settings.dnsHook);
    const previous = this.#loaded.get(name);
    let isHeard = false;
    try {
      await certificates.change(name, (row) => ({ ...row, issuing_since: clock.now() }));
      // What cannot be read could not be kept either.
      await storeOf(settings, certificates).read(fileOf(name));
      await answerer.check(name, signal);
      const { begun, keep } = await this.#begin(settings, name, certificates);
      await this.#countOrder(name, certificates);
      isHeard = true;
      const replaces = previous === undefined ? undefined : await replacedId(previous);
      await using shown = new AsyncDisposableStack();
      const pem = await authority.order(name, { answerer, shown, begun, keep, replaces, signal });
      const made = readStored(pem, name);
      if (made === undefined) {
        await storeOf(settings, certificates).remove(orderFileOf(name));
        throw new OrderFailure(
          "ca_refused",
          "the certificate authority sent a certificate that is not for this name",
        );
      }
      const { issuer, until } = made;
      log.event("certificate.issued", `${name} has a certificate until ${new Date(until).toISOString()}`, {
        name,
        issuer,
        expires: new Date(until).toISOString(),
      });
      try {
        await this.#adopt(active, name, certificates, made);
      } catch (error) {
        // It is used also if it cannot be stored now: the next turn tries that again.
        this.#loaded.set(name, made);
        this.#unstored.add(name);
        throw error;
      } finally {
        this.refreshSoon();
      }
      notifications.send("certificates");
    } catch (error) {
      // A stop of the server, or the loss of the lock, says nothing about the name.
      if (signal.aborted || isUnavailable(error)) throw error;
      await this.#note(toFailure(error), { name, isAsked, isHeard, certificates });
    }
  }

  /**
   * Returns the private key of the next certificate, which is stored before anything is ordered with it, and the order that was under way
   * with it when the server ended.
   */
  async #begin(settings: CertificateSettings, name: string, certificates: CertificateRows) {
    const { directory } = settings;
    const store = storeOf(settings, certificates);
    const file = orderFileOf(name);
    const write = (begun: Begun) => store.write(file, JSON.stringify({ directory, ...begun }));
    const stored = readBegun(await store.read(file));
    const isUsed = stored?.key.trim() === this.#loaded.get(name)?.key.trim();
    const { crypto } = await import("acme-client");
    const key =
      stored === undefined || isUsed ? (await crypto.createPrivateEcdsaKey()).toString() : stored.key;
    const order = isUsed || stored?.directory !== directory ? undefined : stored.order;
    const begun: Begun = { key, order };
    await write(begun);
    return { begun, keep: (order: string) => write({ key, order }) };
  }

  /** Notes for all nodes which certificate a name has: one that was just made, or that of this node, which is stored if it is not. */
  async #adopt(
    { settings }: Active,
    name: string,
    certificates: CertificateRows,
    made?: StoredCertificate,
  ): Promise<void> {
    let certificate = made ?? this.#loaded.get(name);
    if (certificate === undefined) return;
    if (made !== undefined || this.#unstored.has(name)) {
      const store = storeOf(settings, certificates);
      const stored = made ? undefined : readStored((await store.read(fileOf(name))) ?? "", name);
      // Another node may have stored a later one.
      if (stored !== undefined && stored.from > certificate.from) certificate = stored;
      else await store.write(fileOf(name), `${certificate.key}${certificate.cert}`);
      await store.remove(orderFileOf(name));
    }
    const [adopted, now] = [certificate, this.#options.clock.now()];
    await certificates.change(name, (row) => afterIssue(row, adopted, now));
    this.#loaded.set(name, adopted);
    this.#unstored.delete(name);
  }

  /** Removes what is kept for a name that is not wanted, once its certificate has expired: until then the name may come back. */
  async #forget({ settings }: Active, name: string, certificates: CertificateRows): Promise<void> {
    const store = storeOf(settings, certificates);
    for (const file of [fileOf(name), orderFileOf(name)]) await store.remove(file);
    await certificates.names.delete(name);
    this.#loaded.delete(name);
    this.#unstored.delete(name);
  }

  /** Counts an order before it is made, so that a server that is restarted again and again keeps to the limits. */
  async #countOrder(name: string, certificates: CertificateRows): Promise<void> {
    const now = this.#options.clock.now();
    const limit = limitOf(name, await certificates.names.list(), now);
    if (limit !== undefined) throw new OrderFailure("limited_here", limit.text, limit.until - now);
    await certificates.change(name, (row) => afterOrder(row, now));
  }

  async #note(failure: OrderFailure, attempt: Attempt): Promise<void> {
    const { clock, log } = this.#options;
    const { reason, message: detail, output } = failure;
    const { name, certificates } = attempt;
    const now = clock.now();
    if (reason === "limited_here" && isInForce(this.#loaded.get(name), now)) {
      // It is ordered once the limit allows it, and nothing is wrong until then.
      await certificates.change(name, ({ issuing_since: _, ...row }) => row);
      return;
    }
    const { problem } = await certificates.change(name, (row) =>
      afterFailure(row, failure, { ...attempt, now }),
    );
    const said = output === "" ? detail : `${detail}: ${output}`;
    log.event("certificate.failed", `${name} gets no certificate: ${advice[reason]} (${said})`, {
      name,
      reason,
      detail: said,
      retry_ms: (problem?.retry_at ?? now) - now,
    });
  }

  /** Asks the certificate authority when it wants a certificate to be renewed, and remembers a moment in that time. */
  async #ask({ authority }: Active, { name, database, signal }: OneName): Promise<void> {
    const { clock, log } = this.#options;
    const certificate = this.#loaded.get(name);
    if (certificate === undefined) return;
    const id = await replacedId(certificate);
    const window =
      id &&
      (await authority.renewalWindow(id, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        log.debug("the certificate authority was not asked when to renew", {
          name,
          reason: messageOf(error),
        });
        return undefined;
      }));
    const answer = { certificate, window: window || undefined };
    const now = clock.now();
    const { renew_at } = await database.certificates.change(name, (row) => afterAnswer(row, answer, now));
    if (renew_at !== undefined && renew_at <= now) this.refreshSoon();
  }

  /** Returns the key of the account at the certificate authority; a new one is stored before it is used. */
  async #accountKey(settings: CertificateSettings, { certificates }: Database): Promise<string> {
    const { directory, externalAccount } = settings;
    const at = createHash("sha256")
      .update(`${directory} ${externalAccount?.kid ?? ""}`)
      .digest("hex")
      .slice(0, 16);
    const store = storeOf(settings, certificates);
    const { secret, folder } = settings;
    const file = `account-${at}.key`;
    let key = await store.read(file);
    if (key === undefined) {
      const { crypto } = await import("acme-client");
      const isMoved = secret !== undefined && folder !== undefined;
      const known =
        this.#accountKeys.get(file) ?? (isMoved ? await folderStore(folder).read(file) : undefined);
      key = known ?? (await crypto.createPrivateEcdsaKey()).toString();
      await store.write(file, key);
    }
    this.#accountKeys.set(file, key);
    return key;
  }

  #stateOf({ settings }: Active, name: string, row: NameValue | undefined): CertificateState {
    const now = this.#options.clock.now();
    const { problem, issuing_since, renew_at } = row ?? {};
    // One that is stored and not shown yet would be a promise.
    const known = this.#options.shown()?.named.get(name);
    // A time in the future is from before the clock was set back.
    const isIssuing =
      issuing_since !== undefined && now >= issuing_since && now - issuing_since < maxIssuingMs;
    const state = isIssuing
      ? "issuing"
      : known !== undefined && known.until > now
        ? "issued"
        : problem === undefined
          ? "waiting"
          : "failed";
    return {
      name,
      of: settings.names.includes(name) ? "server" : "bucket",
      state,
      issuer: known?.issuer ?? null,
      from: known?.from ?? null,
      until: known?.until ?? null,
      renew_at: renew_at ?? null,
      problem:
        problem === undefined
          ? null
          : {
              reason: problem.reason,
              detail: problem.detail,
              advice: adviceFor(problem.reason),
              at: problem.at,
              retry_at: problem.retry_at,
            },
    };
  }
}

/** What can fail, and is logged once until it succeeds. */
type Work = "load" | "order" | "show";

interface OneName {
  readonly name: string;
  readonly database: Database;
  readonly signal: AbortSignal;
}

interface Attempt {
  readonly name: string;
  /** Whether somebody asked for it. */
  readonly isAsked: boolean;
  /** Whether the certificate authority has heard of it. */
  readonly isHeard: boolean;
  readonly certificates: CertificateRows;
}

/** A row may have been written by another version. */
function adviceFor(reason: string): string {
  return Object.hasOwn(advice, reason) ? advice[reason as FailureReason] : advice.failed;
}

/** The server's own names and the host names of all enabled buckets. */
async function wantedNames({ names }: CertificateSettings, { buckets }: Database): Promise<Set<string>> {
  const states = await buckets.states([], { root: false });
  const hosts = states.flatMap(({ record }) => (record.enable ? record.hosts : []));
  return new Set([...names, ...hosts]);
}

/** Whether two settings lead to the same authority, with the same account and proofs. */
function ordersAlike(one: CertificateSettings, other: CertificateSettings): boolean {
  const parts = ({ directory, ca, email, externalAccount, dnsHook }: CertificateSettings) => ({
    directory,
    ca,
    email,
    externalAccount,
    dnsHook,
  });
  return Bun.deepEquals(parts(one), parts(other));
}

/** Whether keys are stored in the same place. */
function storesAlike(one: CertificateSettings, other: CertificateSettings): boolean {
  return one.secret === other.secret && one.databaseUrl === other.databaseUrl;
}

function storeOf({ secret, folder }: CertificateSettings, rows: CertificateRows): KeyStore {
  if (secret !== undefined) return sealedStore(rows, secret);
  if (folder === undefined) throw new TypeError("the configuration has no place for private keys");
  return folderStore(folder);
}

function fileOf(name: string): string {
  const file = `${name.replace("*", "_")}.pem`;
  return file.length <= maxFileName ? file : `${createHash("sha256").update(name).digest("hex")}.pem`;
}

/** The file of an order under way. */
function orderFileOf(name: string): string {
  return fileOf(name).replace(/pem$/, "order");
}

function readBegun(text: string | undefined): (Begun & { readonly directory: string }) | undefined {
  if (text === undefined) return undefined;
  const { key, order, directory } = parseObject(text) ?? {};
  if (typeof key !== "string" || typeof directory !== "string") return undefined;
  return { key, directory, order: typeof order === "string" ? order : undefined };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function isSame(one: CertificateSet | undefined, other: CertificateSet): boolean {
  return (
    one !== undefined &&
    one.fallback.cert === other.fallback.cert &&
    one.named.size === other.named.size &&
    [...one.named].every(([name, { cert }]) => other.named.get(name)?.cert === cert)
  );
}

// This folder gets certificates from a certificate authority (ACME, RFC 8555) and renews them. The Certificates of this
// file decides which names need one and when; one node of all that share a database orders, and every node loads what is
// stored. authority.ts speaks ACME by the library acme-client, challenges.ts proves that a name is ours, key-store.ts
// keeps private keys, pem.ts reads and makes certificates, failure.ts names why there is none and what to do.

import { createHash } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import type { Database } from "../db/database.ts";
import type { CertificateRows, NameValue } from "../db/rows/certificate-rows.ts";
import { isUnavailable } from "../db/unavailable.ts";
import type { Logger } from "../log/hub.ts";
import { quietly } from "../log/span.ts";
import { type Answerer, Authority, type AuthoritySettings } from "./authority.ts";
import { hookAnswerer, httpAnswerer, type Reach } from "./challenges.ts";
import { advice, type FailureReason, OrderFailure, toFailure } from "./failure.ts";
import { folderStore, type KeyStore, sealedStore } from "./key-store.ts";
import { type KeyPair, readStored, replacedId, type StoredCertificate, selfSigned } from "./pem.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The longest time after which a certificate of another node, or a host name that nobody told of, is noticed. */
const refreshMs = 10_000;
/** Most orders of an hour: certificate authorities have limits of their own, and block who passes them. */
const maxOrdersPerHour = 30;
const maxOrdersPerNameAndHour = 4;
/** Certificates that are ordered at the same time. */
const maxOrdersAtOnce = 4;
/** The pauses after attempts of which the certificate authority heard. The last one is repeated. */
const retryMs = [2 * minuteMs, 10 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs];
/** The longest pause after attempts of which it did not hear: the operator is at work on the DNS or the firewall. */
const maxLocalRetryMs = 5 * minuteMs;
const localReasons: readonly FailureReason[] = ["dns_missing", "limited_here"];
/** How much earlier than after two thirds of its life a certificate is renewed, at most, as a share of its life. */
const jitter = 0.05;
const [firstAskMs, minAskMs, defaultAskMs, maxAskMs] = [minuteMs, hourMs, 6 * hourMs, dayMs];
/** An order that has taken longer was of a node that is gone. */
const maxIssuingMs = 5 * minuteMs;
/** The lock of the node that orders is renewed while it does, and free this long after it was killed. */
const lockMs = 30_000;
const lockName = "certificates";
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
  readonly folder: string;
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
 * that is in force stays in force.
 */
export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #holder = randomText(16);
  readonly #refreshes: Task;
  readonly #orders: Task;
  #active: Active | undefined;
  /** The certificates in memory, also of names that are not wanted at the moment. */
  readonly #loaded = new Map<string, StoredCertificate>();
  #set: CertificateSet | undefined;
  /** Those of a reload that is under way. Its listener is bound before anything is in force. */
  #prepared: CertificateSet | undefined;
  /** False while the listener that the authority asks is not bound. */
  #isStarted = false;
  /** Why certificates could not be managed the last time. */
  #failure: string | undefined;

  constructor(options: CertificatesOptions) {
    this.#options = options;
    const { clock } = options;
    const failed = (error: unknown) => this.#report(error);
    this.#refreshes = new Task({
      clock,
      everyMs: refreshMs,
      firstMs: 0,
      run: () => quietly(() => this.#refresh()),
      failed,
    });
    this.#orders = new Task({
      clock,
      lease: this.#lease(),
      run: (signal) => this.#order(signal),
      failed,
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
    const first = await this.#withDatabase((database) => this.#load(active, database));
    this.#prepared = first;
    return {
      commit: () => {
        this.#prepared = undefined;
        const before = this.#active;
        if (before !== undefined)
          active.forgetsBefore = ordersAlike(before.settings, settings)
            ? before.forgetsBefore
            : clock.now() + 1;
        this.#active = active;
        this.#show(first);
        this.refreshSoon();
      },
      discard: () => {
        this.#prepared = undefined;
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
    const found = await this.#withDatabase(({ certificates }) => certificates.challenges.get(token));
    return found !== undefined && found.until > this.#options.clock.now() ? found.answer : undefined;
  }

  /** Lists the names, sorted; empty without `[tls] auto`. */
  async list(): Promise<CertificateState[]> {
    const active = this.#active;
    if (active === undefined) return [];
    return this.#withDatabase(async (database) => {
      const rows = await database.certificates.names.list();
      const names = await wantedNames(active.settings, database);
      return [...names].sort().map((name) => this.#stateOf(name, rows.get(name)));
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
      return this.#stateOf(name, row);
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
  #report(error: unknown): void {
    const { log } = this.#options;
    const reason = error instanceof Fault ? error.detail : messageOf(error);
    if (isUnavailable(error)) log.debug("certificates wait for the database", { reason });
    if (isUnavailable(error) || reason === this.#failure) return;
    this.#failure = reason;
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
      this.#failure = undefined;
      await this.#forgetProblems(active, database);
      if ((await this.#due(active, database)).length > 0) this.#orders.dueIn(0);
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
    this.#options.onChanged().catch((error: unknown) => {
      // The next refresh tries again.
      if (this.#set === next) this.#set = previous;
      this.#report(error);
    });
  }

  /** Loads the certificates of all wanted names, those from the store that are not in memory. */
  async #load({ settings, placeholder }: Active, database: Database): Promise<CertificateSet> {
    const rows = await database.certificates.names.list();
    const store = storeOf(settings, database.certificates);
    const named = new Map<string, StoredCertificate>();
    for (const name of await wantedNames(settings, database)) {
      const { serial } = rows.get(name)?.certificate ?? {};
      let found = this.#loaded.get(name);
      if (found === undefined || (serial !== undefined && found.serial !== serial)) {
        found = readStored((await readOf(store, name)) ?? "", name) ?? found;
        if (found !== undefined) this.#loaded.set(name, found);
      }
      if (found !== undefined) named.set(name, found);
    }
    return { fallback: named.get(settings.serverName ?? "") ?? (await placeholder()), named };
  }

  /** The names for which something is due. */
  async #due({ settings }: Active, database: Database): Promise<DueName[]> {
    const now = this.#options.clock.now();
    const rows = await database.certificates.names.list();
    const names = await wantedNames(settings, database);
    const isOver = ([name, { certificate, orders }]: [string, NameValue]) =>
      !names.has(name) && !((certificate?.until ?? 0) > now) && inLastHour(orders, now).length === 0;
    return [
      ...[...rows].filter(isOver).map(([name, row]): DueName => ({ name, row, what: "forget" })),
      ...[...names].flatMap((name): DueName[] => {
        const row = rows.get(name) ?? { orders: [] };
        const certificate = this.#loaded.get(name);
        // It was stored by a node that was killed before it could say so, or the database is older than the files.
        if (certificate !== undefined && row.certificate?.serial !== certificate.serial)
          return [{ name, row, what: "adopt" }];
        const needs = certificate === undefined || row.asked === true || (row.renew_at ?? 0) <= now;
        const mayTry = row.asked === true || (row.problem?.retry_at ?? 0) <= now;
        const isLimited = isInForce(certificate, now) && limitOf(name, rows, now) !== undefined;
        if (needs && mayTry && !isLimited) return [{ name, row, what: "order" }];
        return certificate !== undefined && (row.ask_at ?? 0) <= now ? [{ name, row, what: "ask" }] : [];
      }),
    ];
  }

  /** Orders what is due. Only the node that holds the lock does. */
  async #order(signal: AbortSignal): Promise<unknown> {
    const active = this.#active;
    if (active === undefined) return undefined;
    return this.#withDatabase(async (database) => {
      const { certificates } = database;
      const { clock } = this.#options;
      await certificates.clearChallenges(clock.now());
      const due = await this.#due(active, database);
      const queue = due.values();
      const work = async () => {
        for (const { name, row, what } of queue) {
          signal.throwIfAborted();
          if (what === "order")
            await this.#orderOne(active, { name, database, signal, isAsked: row.asked === true });
          else if (what === "ask") await this.#ask(active, { name, row, database, signal });
          else if (what === "adopt") await this.#adopt(name, certificates);
          else await this.#forget(active, name, certificates);
        }
      };
      // A name and its wildcard have the same record in the DNS, and a hook may know one value at a time.
      const atOnce = active.settings.dnsHook === undefined ? maxOrdersAtOnce : 1;
      await Promise.all(Array.from({ length: Math.min(atOnce, due.length) }, work));
      return undefined;
    });
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
    try {
      await certificates.change(name, (row) => ({ ...row, issuing_since: clock.now() }));
      // What cannot be read could not be kept either.
      await storeOf(settings, certificates).read(fileOf(name));
      await answerer.check(name, signal);
      await this.#countOrder(name, certificates);
      const replaces = previous === undefined ? undefined : await replacedId(previous);
      const pem = await authority.order(name, { answerer, replaces, signal });
      const made = readStored(pem, name);
      if (made === undefined)
        throw new OrderFailure(
          "ca_refused",
          "the certificate authority sent a certificate that is not for this name",
        );
      await storeOf(settings, certificates).write(fileOf(name), pem);
      const { issuer, until } = made;
      this.#loaded.set(name, made);
      await this.#adopt(name, certificates);
      log.event("certificate.issued", `${name} has a certificate until ${new Date(until).toISOString()}`, {
        name,
        issuer,
        expires: new Date(until).toISOString(),
      });
      await this.#putInForce(active, database);
      notifications.send("certificates");
    } catch (error) {
      // A stop of the server, or the loss of the lock, says nothing about the name.
      if (signal.aborted || isUnavailable(error)) throw error;
      await this.#note(toFailure(error), { name, isAsked, certificates });
    }
  }

  /** Notes the certificate of a name that is in force here. */
  async #adopt(name: string, certificates: CertificateRows): Promise<void> {
    const certificate = this.#loaded.get(name);
    if (certificate === undefined) return;
    const { serial, issuer, from, until } = certificate;
    const now = this.#options.clock.now();
    await certificates.change(name, ({ orders }) => ({
      orders,
      certificate: { serial, issuer, from, until },
      renew_at: renewalOf(certificate, now),
      ask_at: now + firstAskMs,
    }));
  }

  /** Removes what is kept for a name that is not wanted, once its certificate has expired: until then the name may come back. */
  async #forget({ settings }: Active, name: string, certificates: CertificateRows): Promise<void> {
    await storeOf(settings, certificates).remove(fileOf(name));
    await certificates.names.delete(name);
    this.#loaded.delete(name);
  }

  /** Counts an order before it is made, so that a server that is restarted again and again keeps to the limits. */
  async #countOrder(name: string, certificates: CertificateRows): Promise<void> {
    const now = this.#options.clock.now();
    const limit = limitOf(name, await certificates.names.list(), now);
    if (limit !== undefined) throw new OrderFailure("limited_here", limit.text, limit.until - now);
    await certificates.change(name, (row) => ({
      ...row,
      orders: [...inLastHour(row.orders, now), now],
      asked: false,
    }));
  }

  async #note(failure: OrderFailure, { name, isAsked, certificates }: Attempt): Promise<void> {
    const { clock, log } = this.#options;
    const { reason, message: detail, retryAfterMs } = failure;
    const at = clock.now();
    if (reason === "limited_here" && isInForce(this.#loaded.get(name), at)) {
      // It is ordered once the limit allows it, and nothing is wrong until then.
      await certificates.change(name, ({ issuing_since: _, ...row }) => row);
      return;
    }
    const { problem } = await certificates.change(name, ({ issuing_since: _, ...row }) => {
      // What somebody tries by hand must not delay what the server does by itself.
      const planned = isAsked ? Math.max(row.problem?.retry_at ?? 0, row.renew_at ?? 0) : 0;
      const failures = Math.max(1, (row.problem?.failures ?? 0) + (isAsked ? 0 : 1));
      const pauseMs = localReasons.includes(reason)
        ? Math.min(failures * minuteMs, maxLocalRetryMs)
        : (retryMs[failures - 1] ?? retryMs.at(-1) ?? hourMs);
      const next = at + Math.max(pauseMs, retryAfterMs);
      const retry_at = planned > at ? Math.min(planned, next) : next;
      return { ...row, asked: false, problem: { reason, detail, failures, at, retry_at } };
    });
    log.event("certificate.failed", `${name} gets no certificate: ${advice[reason]} (${detail})`, {
      name,
      reason,
      detail,
      retry_ms: (problem?.retry_at ?? at) - at,
    });
  }

  /** Asks the certificate authority when it wants a certificate to be renewed, and remembers a moment in that time. */
  async #ask(
    { authority }: Active,
    { name, row, database, signal }: OneName & { row: NameValue },
  ): Promise<void> {
    const { clock, log } = this.#options;
    const certificate = this.#loaded.get(name);
    if (certificate === undefined) return;
    let [askMs, renewAt] = [defaultAskMs, row.renew_at];
    try {
      const id = await replacedId(certificate);
      const found = id === undefined ? undefined : await authority.renewalWindow(id, signal);
      if (found !== undefined) {
        const { start, end, askAfterMs } = found;
        askMs = Math.min(Math.max(askAfterMs, minAskMs), maxAskMs);
        const isInside = renewAt !== undefined && renewAt >= start && renewAt <= end;
        const earliest = certificate.from + restMs(certificate.until - certificate.from);
        if (!isInside) renewAt = Math.max(earliest, Math.floor(start + Math.random() * (end - start)));
      }
    } catch (error) {
      signal.throwIfAborted();
      log.debug("the certificate authority was not asked when to renew", { name, reason: messageOf(error) });
    }
    const ask_at = clock.now() + askMs;
    await database.certificates.change(name, (row) => ({
      ...row,
      ask_at,
      renew_at: renewAt ?? row.renew_at,
    }));
    if (renewAt !== undefined && renewAt <= clock.now()) this.refreshSoon();
  }

  /** Returns the key of the account at the certificate authority; a new one is stored before it is used. */
  async #accountKey(settings: CertificateSettings, { certificates }: Database): Promise<string> {
    const { directory, externalAccount } = settings;
    const at = createHash("sha256")
      .update(`${directory} ${externalAccount?.kid ?? ""}`)
      .digest("hex")
      .slice(0, 16);
    const store = storeOf(settings, certificates);
    const file = `account-${at}.key`;
    const known = await store.read(file);
    if (known !== undefined) return known;
    const { crypto } = await import("acme-client");
    const key = (await crypto.createPrivateEcdsaKey()).toString();
    await store.write(file, key);
    return key;
  }

  #stateOf(name: string, row: NameValue | undefined): CertificateState {
    const now = this.#options.clock.now();
    const { problem, issuing_since, renew_at } = row ?? {};
    // One that is stored and not shown yet would be a promise.
    const known = this.#options.shown()?.named.get(name);
    const isIssuing = issuing_since !== undefined && now - issuing_since < maxIssuingMs;
    const state = isIssuing
      ? "issuing"
      : known !== undefined && known.until > now
        ? "issued"
        : problem === undefined
          ? "waiting"
          : "failed";
    return {
      name,
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

interface OneName {
  readonly name: string;
  readonly database: Database;
  readonly signal: AbortSignal;
}

interface Attempt {
  readonly name: string;
  /** Whether somebody asked for it. */
  readonly isAsked: boolean;
  readonly certificates: CertificateRows;
}

interface DueName {
  readonly name: string;
  readonly row: NameValue;
  /**
   * An order; a question when to renew; noting a certificate that is stored; removing what is kept for a name that nobody wants any more.
   */
  readonly what: "order" | "ask" | "adopt" | "forget";
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

/** A time in the future is from before the clock was set back. */
function inLastHour(orders: readonly number[], now: number): number[] {
  return orders.filter((at) => at > now - hourMs && at <= now);
}

/** Returns why no order may be made for a name now, and until when; undefined if one may. */
function limitOf(
  name: string,
  rows: ReadonlyMap<string, NameValue>,
  now: number,
): { readonly text: string; readonly until: number } | undefined {
  const own = inLastHour(rows.get(name)?.orders ?? [], now);
  if (own.length >= maxOrdersPerNameAndHour)
    return { text: `${own.length} orders for ${name} in the last hour`, until: Math.min(...own) + hourMs };
  const every = [...rows.values()].flatMap(({ orders }) => inLastHour(orders, now));
  if (every.length < maxOrdersPerHour) return undefined;
  return { text: `${every.length} orders in the last hour`, until: Math.min(...every) + hourMs };
}

function isInForce(certificate: StoredCertificate | undefined, now: number): boolean {
  return certificate !== undefined && certificate.until > now;
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

function storeOf({ secret, folder }: CertificateSettings, rows: CertificateRows): KeyStore {
  return secret === undefined ? folderStore(folder) : sealedStore(rows, secret);
}

function fileOf(name: string): string {
  const file = `${name.replace("*", "_")}.pem`;
  return file.length <= maxFileName ? file : `${createHash("sha256").update(name).digest("hex")}.pem`;
}

/** Reads the certificate of a name. What is wrong with one file must not keep the others from their certificates; an order says it. */
async function readOf(store: KeyStore, name: string): Promise<string | undefined> {
  try {
    return await store.read(fileOf(name));
  } catch (error) {
    if (error instanceof OrderFailure) return undefined;
    throw error;
  }
}

/** After two thirds of its life, a little earlier by chance: servers that were set up together do not come back together. */
function renewalOf({ from, until }: StoredCertificate, nowMs: number): number {
  const life = until - from;
  const at = Math.floor(from + life * (2 / 3 - Math.random() * jitter));
  const earliest = nowMs + restMs(life);
  return earliest + restMs(life) < until ? Math.max(at, earliest) : at;
}

/** The least time before a certificate is replaced: a clock or an authority that is wrong must not lead to one order after the other. */
function restMs(life: number): number {
  return Math.min(dayMs, Math.floor(life / 3));
}

function isSame(one: CertificateSet | undefined, other: CertificateSet): boolean {
  return (
    one !== undefined &&
    one.fallback.cert === other.fallback.cert &&
    one.named.size === other.named.size &&
    [...one.named].every(([name, { cert }]) => other.named.get(name)?.cert === cert)
  );
}

import type { Clock } from "../base/clock.ts";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import type { Database } from "../db/database.ts";
import type { SessionValue } from "../db/rows/session-rows.ts";
import type { TokenRow } from "../db/rows/token-rows.ts";
import type { Caller } from "./caller.ts";
import { hashesMatch, hashSecret, keyLength, noSecretHash, secretLength } from "./credentials.ts";

const dayMs = 86_400_000;
/** How long a session lasts, by whether the person stays signed in when the browser is closed. */
const lifetimeMs = { persistent: 30 * dayMs, short: dayMs };
/** When there are more of a token, the oldest ones end. */
const maxSessions = 100;
/** The precision of the time of the last use. */
const precisionMs = 300_000;
/** Stands before the id of a session where a key stands in credentials. No generated key begins so. */
const sessionMark = "~";
const sessionName = new RegExp(`^${sessionMark}([A-Za-z0-9]{${keyLength}})$`);

/** NewSession is what a person gets who signs in; the text is shown once. */
export interface NewSession {
  /** Credentials of the form `~<id>:<secret>`. */
  readonly session: string;
  /** Unix milliseconds. */
  readonly expires: number;
}

/** SessionRecord is a session as its owner may see it. Times are Unix milliseconds. */
export interface SessionRecord {
  readonly id: string;
  readonly device: string | null;
  readonly address: string;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly expires: number;
  readonly current: boolean;
}

interface SessionStart {
  readonly persistent: boolean;
  readonly device: string | null;
  readonly address: string;
}

interface SessionsOptions {
  readonly clock: Clock;
  /** Called when sessions have ended. */
  readonly onChanged: () => void;
}

/** ProvenSession is a session whose secret is right, and the token that it stands for. */
interface ProvenSession {
  readonly id: string;
  readonly row: TokenRow;
}

/** `sessionIdOf` returns the id in credentials of a session; undefined for those of a token. */
export function sessionIdOf(name: string): string | undefined {
  return sessionName.exec(name)?.[1];
}

/**
 * Sessions are the sign-ins of people with a user name and a password. A session may do what its token may do, and ends with it, with its
 * password, after its time, or when its owner ends it: it is read from the database for every call, on every node.
 */
export class Sessions {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #changed: () => void;

  constructor(database: Database, { clock, onChanged }: SessionsOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#changed = onChanged;
  }

  /** Begins a session of a caller that has just proven its password. */
  async begin(caller: Caller, { persistent, device, address }: SessionStart): Promise<NewSession> {
    if (caller.by !== "username" || caller.session !== undefined)
      throw new Fault(
        "InvalidInput",
        "a session begins with a user name and a password; a token (key:secret) needs none",
        { field: "token" },
      );
    const id = randomText(keyLength);
    const secret = randomText(secretLength);
    const now = this.#clock.now();
    const end = now + (persistent ? lifetimeMs.persistent : lifetimeMs.short);
    const expires = Math.min(end, caller.until ?? end);
    const value: SessionValue = {
      by: caller.key,
      secretHash: hashSecret(secret),
      password: hashSecret(caller.proof),
      device,
      address,
      created: now,
      used: now,
      expires,
    };
    await this.#database.sessions.insert(id, value, maxSessions);
    return { session: `${sessionMark}${id}:${secret}`, expires };
  }

  /** Returns the token of a session if the secret is right; undefined otherwise. */
  async prove(id: string, secret: string, address: string): Promise<ProvenSession | undefined> {
    const found = await this.#database.sessions.get(id);
    // Compared also without a row, so that a wrong secret takes as long for every id.
    const isRight = hashesMatch(hashSecret(secret), found?.secretHash ?? noSecretHash);
    if (!isRight || found === undefined) return undefined;
    const row = await this.#database.tokens.byKey(found.by);
    const now = this.#clock.now();
    if (row === undefined || !isLive(found, now) || found.password !== hashSecret(row.passwordHash ?? ""))
      return undefined;
    if (now - found.used >= precisionMs) await this.#noteUse(id, { ...found, used: now, address });
    return { id, row };
  }

  /** A full disk must not keep out the person who would make room. */
  async #noteUse(id: string, session: SessionValue): Promise<void> {
    try {
      await this.#database.sessions.used(id, session);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  /** Returns those of the sessions that have not ended. That their password is still the same is for the caller to compare. */
  async live(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const now = this.#clock.now();
    const found = await this.#database.sessions.getMany([...new Set(ids)]);
    return new Set([...found].flatMap(([id, session]) => (isLive(session, now) ? [id] : [])));
  }

  /** The sessions of the caller's token, the one that was used last first. */
  async list(caller: Caller): Promise<SessionRecord[]> {
    const row = await this.#database.tokens.byKey(caller.key);
    const password = hashSecret(row?.passwordHash ?? "");
    const now = this.#clock.now();
    const all = await this.#database.sessions.of(caller.key);
    return [...all]
      .filter(([, session]) => isLive(session, now) && session.password === password)
      .map(([id, { device, address, created, used, expires }]) => ({
        id,
        device,
        address,
        created_at: created,
        last_used_at: used,
        expires,
        current: id === caller.session,
      }))
      .sort((one, other) => other.last_used_at - one.last_used_at);
  }

  /** Ends one session of the caller's token, or without an id all but the caller's own. Returns how many. */
  async end(caller: Caller, id: string | undefined): Promise<number> {
    const { sessions } = this.#database;
    const ended = await (id === undefined
      ? sessions.endAll(caller.key, caller.session)
      : sessions.end(caller.key, id));
    this.#changed();
    return ended;
  }

  /** Ends all sessions of a token, and returns how many. */
  async endAll(tokenKey: string): Promise<number> {
    const ended = await this.#database.sessions.endAll(tokenKey);
    this.#changed();
    return ended;
  }

  /** Ends all sessions of a caller whose password has changed, and begins another one in the place of its own. */
  async renew(caller: Caller, passwordHash: string): Promise<NewSession | undefined> {
    const own = caller.session === undefined ? undefined : await this.#database.sessions.get(caller.session);
    await this.#database.sessions.endAll(caller.key);
    if (own === undefined) return undefined;
    const { device, address } = own;
    const persistent = own.expires - own.created > lifetimeMs.short;
    return this.begin(
      { ...caller, proof: passwordHash, session: undefined },
      { persistent, device, address },
    );
  }
}

function isLive({ expires }: SessionValue, now: number): boolean {
  return now < expires;
}

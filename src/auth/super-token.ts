import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import type { Database } from "../db/database.ts";
import { type KvRows, superTokenRolls as superTokenRollNotes } from "../db/rows/kv-rows.ts";
import type { Logger } from "../log/hub.ts";
import { quietly } from "../log/span.ts";
import type { AuditLog } from "./audit-log.ts";
import { hashesMatch, hashSecret, secretLength } from "./credentials.ts";
import { hashPassword, type PasswordCost } from "./passwords.ts";
import { newKey } from "./tokens.ts";

/** What is shown once and never again. */
export interface SuperCredentials {
  readonly token: string;
  readonly password: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const username = "root";

/** A Super Token that the deployment chose. Only `parseGivenToken` makes one. */
interface GivenToken {
  readonly key: string;
  readonly secret: string;
}

/** SuperTokenOptions has what receives the reports of `ensureSuperToken`. */
interface SuperTokenOptions {
  /** Receives the credentials of a Super Token that was made and is known to nobody yet. If it fails, no Super Token is created. */
  show(credentials: SuperCredentials): void | Promise<void>;
  /** Receives one sentence without a secret. */
  readonly log: { warn(message: string): void };
  readonly passwordCost?: PasswordCost | undefined;
}

/**
 * Makes the Super Token of a new database and shows it, unless `NODE_SERVER_SUPER_TOKEN` of `env` gives it. True when there
 * was none before.
 */
export async function ensureSuperToken(
  database: Database,
  env: Environment,
  { show, log, passwordCost }: SuperTokenOptions,
): Promise<boolean> {
  const given = parseGivenToken(env);
  const found = await database.tokens.superToken();
  if (found !== undefined) {
    if (
      given !== undefined &&
      !(given.key === found.key && hashesMatch(hashSecret(given.secret), found.secretHash))
    )
      log.warn(
        "NODE_SERVER_SUPER_TOKEN is ignored: the database has another Super Token; `node-server roll-super-token` makes a new one",
      );
    return false;
  }
  const made = await make(database, given, passwordCost);
  let first = false;
  const row = { ...made.row, from: null, to: null, limits: [], username, createdBy: null, name: null };
  await database.tokens.insertSuper(row, async () => {
    first = true;
    if (given === undefined) await show(made.credentials);
  });
  return first;
}

/** A new key, secret and root password; the old ones end with this call. */
export async function rollSuperToken(database: Database): Promise<SuperCredentials> {
  if ((await database.tokens.superToken()) === undefined) {
    throw new Fault("NotFound", "this database has no Super Token yet; `node-server init` creates it");
  }
  const made = await make(database, undefined);
  await database.tokens.replaceSuper(made.row);
  return made.credentials;
}

async function make(database: Database, given: GivenToken | undefined, cost?: PasswordCost) {
  const { key, secret } = given ?? { key: await newKey(database), secret: randomText(secretLength) };
  const password = randomText(32);
  return {
    row: { key, secretHash: hashSecret(secret), passwordHash: await hashPassword(password, cost) },
    credentials: { token: `${key}:${secret}`, password },
  };
}

/** Reads `NODE_SERVER_SUPER_TOKEN`, before anything is made. The words are never shown, not even when they are wrong. */
export function parseGivenToken(env: Environment): GivenToken | undefined {
  const { NODE_SERVER_SUPER_TOKEN: given } = env;
  if (given === undefined) return undefined;
  const [, key, secret] = /^([^:|\s]{1,128}):([^:|\s]{16,1024})$/.exec(given) ?? [];
  if (key === undefined || secret === undefined)
    throw new Fault(
      "InvalidInput",
      "NODE_SERVER_SUPER_TOKEN must read <key>:<secret>, with a secret of 16 characters or more and without `:`, `|` and spaces",
    );
  return { key, secret };
}

const everyMs = 5000;
/** A database that does not answer must not delay a stop. */
const closeTimeoutMs = 1000;

const notes = z.record(z.string(), z.object({ at: z.string() }));

interface SuperTokenRollsOptions {
  readonly kv: KvRows;
  readonly audit: AuditLog;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * superTokenRolls audits what `roll-super-token` did. That is a process of its own, which may run while no server does, so it leaves a note
 * in the database; a server reads the notes at its start and every few seconds, records them and removes them.
 */
export function superTokenRolls({ kv, audit, log, clock }: SuperTokenRollsOptions): Task {
  return new Task({
    clock,
    everyMs,
    firstMs: 0,
    closeMs: closeTimeoutMs,
    async run() {
      // The log should not show a read every few seconds.
      const taken = await quietly(async () =>
        (await kv.isEmpty(superTokenRollNotes))
          ? undefined
          : await kv.removeAndReturnAll(superTokenRollNotes),
      );
      if (taken === undefined) return;
      const found = notes.parse(taken);
      for (const [key, { at }] of Object.entries(found)) audit.superTokenRolled(key, at);
    },
    failed(error) {
      log.debug("notes of roll-super-token were not read", { reason: messageOf(error) });
    },
  });
}

/** Returns the credentials of the Super Token, which are shown once: on standard output, never through the logger. */
export function credentialLines({ token, password }: SuperCredentials): string {
  return `Super Token: ${token}\nRoot Password: ${password}\n`;
}

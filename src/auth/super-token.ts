import { Fault } from "../base/fault.ts";
import { randomText } from "../base/random.ts";
import type { Database } from "../db/database.ts";
import { keyLength, secretLength } from "./credentials.ts";
import { hashPassword, hashSecret } from "./secrets.ts";

/** What is shown once and never again. */
export interface SuperCredentials {
  readonly token: string;
  readonly password: string;
}

const username = "root";

/**
 * Makes the Super Token of a new database and shows it, unless it was `given`, which is known already. True when
 * there was none before.
 */
export async function ensureSuperToken(
  database: Database,
  given: string | undefined,
  show: (credentials: SuperCredentials) => void,
): Promise<boolean> {
  if ((await database.tokens.superToken()) !== undefined) return false;
  const made = await make(given);
  let first = false;
  await database.tokens.insertSuper({ ...made.row, from: null, to: null, limits: [], username }, () => {
    first = true;
    if (given === undefined) show(made.shown);
  });
  return first;
}

/** A new key, secret and root password; the old ones end with this call. */
export async function rollSuperToken(database: Database): Promise<SuperCredentials> {
  if ((await database.tokens.superToken()) === undefined) {
    throw new Fault("NotFound", "this database has no Super Token yet; `node-server init` makes it");
  }
  const made = await make(undefined);
  await database.tokens.replaceSuper(made.row);
  return made.shown;
}

async function make(given: string | undefined) {
  const [key, secret] =
    given === undefined ? [randomText(keyLength), randomText(secretLength)] : splitGiven(given);
  const password = randomText(32);
  return {
    row: { key, secretHash: hashSecret(secret), passwordHash: await hashPassword(password) },
    shown: { token: `${key}:${secret}`, password },
  };
}

/** From the environment, for containers. The words are never shown, not even when they are wrong. */
function splitGiven(given: string): [key: string, secret: string] {
  const match = /^([^:|\s]{1,128}):([^:|\s]{16,1024})$/.exec(given);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new Fault(
      "InvalidInput",
      "NODE_SERVER_SUPER_TOKEN must read <key>:<secret>, with a secret of 16 characters or more and without `:`, `|` and spaces",
    );
  }
  return [match[1], match[2]];
}

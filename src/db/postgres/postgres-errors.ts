import { SQL } from "bun";
import { shownDatabase } from "../../base/database-url.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { PgSession, parsePgUrl } from "../operator/postgres/session.ts";
import { diskFull, unavailable } from "../unavailable.ts";

const uniqueViolation = "23505";
const tooManyConnections = "53300";
const insufficientPrivilege = "42501";
const diskFullState = "53100";
const missingDatabase = "3D000";
const wrongPassword = "28P01";
const notAuthorized = "28000";
const lockNotAvailable = "55P03";
const queryCanceled = "57014";

/**
 * SQLSTATEs of a connection that ended or was never made: class 08, a transaction that was idle for too long, failed
 * authentication (28), a missing database, no free connection, and a server that stops, starts or crashed.
 */
const connectionState = /^(08|25P03$|28|3D000$|53300$|57P0)/;
/** Codes of Bun's driver for the same failures, for those that PostgreSQL did not report itself: what it said may be unreadable. */
const connectionCode =
  /^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|TLS|AUTHENTICATION|INVALID_MESSAGE|UNEXPECTED_MESSAGE)/;

function sqlState(error: unknown): string | undefined {
  return error instanceof SQL.PostgresError ? error.errno : undefined;
}

/**
 * `toDatabaseFault` turns an error of Bun's driver into a Fault with PostgreSQL's own message, or `unavailable` if the connection
 * failed.
 */
export function toDatabaseFault(error: unknown): Fault {
  const sqlstate = sqlState(error);
  if (sqlstate === undefined ? connectionCode.test(codeOf(error) ?? "") : connectionState.test(sqlstate))
    return unavailable(error);
  if (sqlstate === lockNotAvailable)
    return unavailable(error, "another change takes too long; try again shortly");
  if (sqlstate === queryCanceled) return unavailable(error, "the database took too long; try again shortly");
  if (sqlstate === diskFullState) return diskFull(error, { sqlstate });
  return new Fault(
    "DatabaseError",
    messageOf(error),
    {
      ...(sqlstate === undefined ? {} : { sqlstate }),
      ...(sqlstate === uniqueViolation ? { unique: true } : {}),
    },
    { cause: error },
  );
}

/** `isCrowded` returns whether PostgreSQL answered that it has no free connection. */
export function isCrowded(error: unknown): boolean {
  return sqlState(error) === tooManyConnections;
}

/** FailedConnection says why a connection to PostgreSQL failed, and what an operator can do. */
interface FailedConnection {
  /** False if PostgreSQL answered, and refused. */
  readonly isUnreachable: boolean;
  readonly why: string;
}

/**
 * `explainConnection` returns why PostgreSQL cannot be used. Bun's driver says `Failed to connect` for a name that does not resolve, a
 * closed port and everything else, so it connects once more with the library pg, which keeps the system's error.
 */
export async function explainConnection(
  url: string,
  error: unknown,
  timeoutMs: number,
): Promise<FailedConnection> {
  const state = sqlState(error);
  if (state !== undefined) return refusal(url, state, messageOf(error));
  const unreachable = (why: string) => ({ isUnreachable: true, why });
  try {
    await (await PgSession.open(parsePgUrl(url), {}, timeoutMs)).close();
    return unreachable(messageOf(error));
  } catch (again) {
    const cause = again instanceof Fault && again.cause !== undefined ? again.cause : again;
    if (cause instanceof Fault && typeof cause.data.sqlstate === "string")
      return refusal(url, cause.data.sqlstate, cause.detail);
    switch (codeOf(cause)) {
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return unreachable(
          `the host name ${parsePgUrl(url).host} cannot be resolved (${codeOf(cause)}); check it in database_url, and the DNS`,
        );
      case "ECONNREFUSED":
        return unreachable(
          "nothing accepts connections there (ECONNREFUSED); check that PostgreSQL runs, and host and port in database_url",
        );
      default:
        return unreachable(cause instanceof Fault ? cause.detail : messageOf(cause));
    }
  }
}

/** `refusal` adds what to do to the reason that PostgreSQL gave. */
function refusal(url: string, state: string, message: string): FailedConnection {
  const remedy = remedyFor(state, parsePgUrl(url));
  return { isUnreachable: false, why: remedy === undefined ? message : `${message}; ${remedy}` };
}

function remedyFor(
  state: string,
  { user, database }: { readonly user: string; readonly database: string },
): string | undefined {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  if (state === missingDatabase)
    return `create it as a superuser of PostgreSQL (CREATE DATABASE ${quoted(database)} OWNER ${quoted(user)}), or name another in database_url`;
  if (state === wrongPassword)
    return `correct user and password in database_url, or set the password in PostgreSQL (ALTER ROLE ${quoted(user)} PASSWORD '…')`;
  if (state === notAuthorized)
    return "correct the user in database_url, or let PostgreSQL accept it (CREATE ROLE, pg_hba.conf)";
  if (state === tooManyConnections)
    return "raise max_connections of PostgreSQL, or lower max_connections in [database] of its clients";
  return undefined;
}

/** `toSetupFault` adds to a failed creation of tables what an operator needs: the database, and what to do. */
export function toSetupFault(url: string, error: unknown): unknown {
  if (!(error instanceof Fault) || error.data.sqlstate !== insufficientPrivilege) return error;
  const { user } = parsePgUrl(url);
  return new Fault(
    "DatabaseError",
    `the tables in PostgreSQL at ${shownDatabase(url)} cannot be created: ${error.detail}; let the user ${user} create tables there (as owner of the database: GRANT USAGE, CREATE ON SCHEMA public TO "${user.replaceAll('"', '""')}"), or name another user or database in database_url`,
    error.data,
    { cause: error },
  );
}

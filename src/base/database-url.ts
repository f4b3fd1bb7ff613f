import { existsSync, realpathSync } from "node:fs";
import { Fault } from "./fault.ts";

export interface SqliteFile {
  readonly path: string;
  /** `rwc` creates a missing file, `rw` requires it to exist. */
  readonly mode: "rw" | "rwc";
}

type DatabaseLocation = { readonly sqlite: SqliteFile } | { readonly postgres: string };

/**
 * Values of `sslmode` that mean the same to both PostgreSQL clients of this server. `allow` and `verify-ca`, which libpq also
 * knows, do not: the pool treats `allow` as `prefer`, and the client of `exec_sql` checks the host name under `verify-ca` too.
 */
const sslModes: readonly string[] = ["disable", "prefer", "require", "verify-full"];

/**
 * `parseDatabaseUrl` reads `sqlite:…` or `postgres://…`. It checks what can be checked without connecting, and throws InvalidInput.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url.startsWith("sqlite:")) return { sqlite: parseSqliteUrl(url) };
  const [, authority, rest = ""] = /^postgres(?:ql)?:\/\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  if (authority === undefined) throw refusal("must begin with sqlite:, postgres:// or postgresql://");
  if (isAmbiguous(authority, rest)) throw refusal(ambiguous);
  if (!URL.canParse(url)) throw refusal(whyNoUrl(authority));
  const { searchParams } = new URL(url);
  const mode = searchParams.get("sslmode");
  if (mode !== null && !sslModes.includes(mode))
    throw refusal(`has an unknown sslmode; use ${sslModes.slice(0, -1).join(", ")} or ${sslModes.at(-1)}`);
  return { postgres: url };
}

/** `parseSqliteUrl` reads `sqlite://data/node.db?mode=rwc`, `sqlite:node.db`, `sqlite:///var/lib/node.db`. Throws InvalidInput. */
export function parseSqliteUrl(url: string): SqliteFile {
  const [location = "", query = ""] = url.replace(/^sqlite:(\/\/)?/, "").split("?", 2);
  const path = decode(location);
  const mode = new URLSearchParams(query).get("mode") ?? "rw";
  if (path === "" || path.startsWith(":memory:") || mode === "memory") {
    throw refusal("must name a file: a database in memory would lose everything at the next start");
  }
  if (mode !== "rw" && mode !== "rwc") throw refusal(`has mode=${mode}; use rwc or rw`);
  return { path, mode };
}

/** `withSqlitePath` returns a `sqlite:` URL with another path and everything else as it was. */
export function withSqlitePath(url: string, path: string): string {
  const [, query] = url.split("?", 2);
  return `sqlite://${path.split("/").map(encodeURIComponent).join("/")}${query === undefined ? "" : `?${query}`}`;
}

/** `shownDatabase` names the database without secrets: the path of a file, or host, port and name without user and password. */
export function shownDatabase(url: string): string {
  const location = parseDatabaseUrl(url);
  if ("sqlite" in location) return location.sqlite.path;
  const { host, pathname } = new URL(location.postgres);
  return `${host}${pathname}`;
}

/**
 * `isAmbiguous` returns whether an unencoded character of a password may have ended the host early. What follows it would be read as
 * host, path or query, and shown.
 */
function isAmbiguous(authority: string, rest: string): boolean {
  return authority.indexOf("@") !== authority.lastIndexOf("@") || /[@#]/.test(rest);
}

const ambiguous =
  "is ambiguous; percent-encode special characters of the password (`@` as `%40`, `/` as `%2F`, `?` as `%3F`, `#` as `%23`)";

/** `whyNoUrl` says which part of a PostgreSQL URL is invalid. It quotes nothing of it: any part may belong to a password. */
function whyNoUrl(authority: string): string {
  const at = authority.lastIndexOf("@");
  const port = /:([^:\]]*)$/.exec(authority.slice(at + 1))?.[1];
  if (port !== undefined && !(/^\d*$/.test(port) && Number(port) <= 65_535))
    return "has an invalid port; write a number from 1 to 65535 after the host";
  return authority.slice(0, Math.max(at, 0)).includes(":")
    ? "is not a valid URL; in a password, write special characters as %XX"
    : "is not a valid URL; write it as postgres://user:password@host:port/name";
}

function decode(location: string): string {
  try {
    return decodeURIComponent(location);
  } catch {
    throw refusal("has a path with a broken % sign; write % as %25");
  }
}

function refusal(why: string): Fault {
  return new Fault("InvalidInput", why, { field: "database_url" });
}

/** `sqliteLockPath` returns the file whose lock shows that a server uses the SQLite file at `path`. It is beside the target of a link. */
export function sqliteLockPath(path: string): string {
  return `${existsSync(path) ? realpathSync(path) : path}.lock`;
}

import { resolve } from "node:path";
import { Fault } from "./fault.ts";

export interface SqliteFile {
  readonly path: string;
  /** `rwc` makes the file, `rw` wants it to exist. */
  readonly mode: "rw" | "rwc";
}

export type DatabasePlace = { readonly sqlite: SqliteFile } | { readonly postgres: string };

/** `sqlite:…` or `postgres://…`, checked as far as it can be without connecting. */
export function parseDatabaseUrl(url: string): DatabasePlace {
  if (url.startsWith("sqlite:")) return { sqlite: parseSqliteUrl(url) };
  if (!/^postgres(ql)?:\/\//.test(url))
    throw refusal("must begin with sqlite:, postgres:// or postgresql://");
  if (!URL.canParse(url)) throw refusal("is no URL; in a password, write special characters as %XX");
  // An unencoded `/` in the password ends the host early, and what follows would be taken for the database's name.
  if (new URL(url).pathname.includes("@")) throw refusal("has a `/` in its password; write it as %2F");
  return { postgres: url };
}

/** `sqlite://data/node.db?mode=rwc`, `sqlite:node.db`, `sqlite:///var/lib/node.db`. */
export function parseSqliteUrl(url: string): SqliteFile {
  const [place = "", query = ""] = url.replace(/^sqlite:(\/\/)?/, "").split("?", 2);
  const path = decode(place);
  const mode = new URLSearchParams(query).get("mode") ?? "rw";
  if (path === "" || path.startsWith(":memory:") || mode === "memory") {
    throw refusal("must name a file: a database in memory would lose everything at the next start");
  }
  if (mode !== "rw" && mode !== "rwc") throw refusal(`has mode=${mode}; use rwc or rw`);
  return { path, mode };
}

/** The database as it may be shown: the absolute path of a file, or host, port and name without user and password. */
export function shownDatabase(url: string): string {
  const place = parseDatabaseUrl(url);
  if ("sqlite" in place) return resolve(place.sqlite.path);
  const { host, pathname } = new URL(place.postgres);
  return `${host}${pathname}`;
}

function decode(place: string): string {
  try {
    return decodeURIComponent(place);
  } catch {
    throw refusal("has a path with a broken % sign; write % as %25");
  }
}

function refusal(why: string): Fault {
  return new Fault("InvalidInput", why, { field: "database_url" });
}

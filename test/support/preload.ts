import { afterAll } from "bun:test";
import { stopPostgres } from "./postgres.ts";
import { removeVersions } from "./update.ts";

/** Hooks of a preloaded file hold for the whole run: one PostgreSQL and one set of compiled versions for all files. */
afterAll(stopPostgres);
afterAll(removeVersions);

import { afterAll } from "bun:test";
import { stopPostgres } from "./postgres.ts";

/** Hooks of a preloaded file hold for the whole run: one PostgreSQL for all files. */
afterAll(stopPostgres);

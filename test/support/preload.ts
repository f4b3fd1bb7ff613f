import { afterAll } from "bun:test";
import { closeShared } from "./run-end.ts";

/** Hooks of a preloaded file hold for the whole run: one PostgreSQL, one browser and one set of compiled versions for all files. */
afterAll(closeShared);

import { afterAll } from "bun:test";
import { closeShared } from "./test-run.ts";

/** Hooks of a preloaded file run after the last file of a `bun test`, and after every file of a worker (`--parallel`). */
afterAll(closeShared);

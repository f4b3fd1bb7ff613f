export const programDescription = "One executable: a JSON-RPC control plane and static file buckets.";

export { exitCodes, exitMeanings } from "../base/exit-codes.ts";

/** CommandOptions are the options of the program itself, which every command is given. */
export interface CommandOptions {
  readonly config: string;
}

/** The configuration that is read without `--config`. */
export const defaultConfigPath = "config.toml";

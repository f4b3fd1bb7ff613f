/** Exit codes, which scripts rely on. */
export const exitCodes = { done: 0, failed: 1, usage: 2, refused: 3, unreachable: 4 } as const;

/** CommandOptions are the options of the program itself, which every command is given. */
export interface CommandOptions {
  readonly config: string;
}

/** The configuration that is read without `--config`. */
export const defaultConfigPath = "config.toml";

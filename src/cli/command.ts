/** The exit codes that scripts rely on. */
export const exitCodes = { done: 0, failed: 1, usage: 2, refused: 3, unreachable: 4 } as const;

/** What every command is given by the command line. */
export interface CommandOptions {
  readonly config: string;
}

/** The configuration that is read when none is named. */
export const defaultConfigPath = "config.toml";

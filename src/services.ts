import type { Agents } from "./agents/agents.ts";
import type { Tokens } from "./auth/tokens.ts";

/** What a method may use. */
export interface Services {
  readonly serverUuid: string;
  readonly tokens: Tokens;
  readonly agents: Agents;
}

import type { CommandRow } from "../command-row.ts";
import { remoteJson, yes } from "../options.ts";
import { tokenCreation } from "./token-options.ts";

export const tokens: CommandRow = {
  name: "tokens",
  description: "list, create, renew and delete tokens",
  commands: [
    {
      name: "list",
      description: "list all tokens",
      isDefault: true,
      options: remoteJson,
      load: async () => (await import("./tokens.ts")).listTokens,
    },
    {
      name: "create",
      description: "create a token; its secret is printed only once",
      options: tokenCreation,
      load: async () => (await import("./tokens.ts")).createToken,
    },
    {
      name: "delete <key>",
      description: "delete a token",
      options: [...remoteJson, yes],
      load: async () => (await import("./tokens.ts")).deleteToken,
    },
    {
      name: "roll <key>",
      description: "give a token a new secret, printed only once",
      options: [...remoteJson, yes],
      load: async () => (await import("./tokens.ts")).rollToken,
    },
  ],
};

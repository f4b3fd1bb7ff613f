import type { Token } from "../../../client/index.ts";
import type { AuditRow } from "./audit-rows.ts";

/** The token behind a change. */
export interface Actor {
  /** Key of the token; its user name when the key is not known; empty when nobody is named. */
  readonly id: string;
  /** Its name, else its user name, else its key. */
  readonly label: string;
  readonly isSuper: boolean;
  /** Whether the server still has it. Unknown tokens of callers that may not list tokens count as absent. */
  readonly exists: boolean;
}

/** Known tokens, by key and by user name. */
export class Actors {
  readonly #byKey = new Map<string, Actor>();
  readonly #byUsername = new Map<string, Actor>();

  constructor(tokens: readonly Token[]) {
    for (const { token_key, username, name, super: isSuper = false } of tokens) {
      const actor = { id: token_key, label: name ?? username ?? token_key, isSuper, exists: true };
      this.#byKey.set(token_key, actor);
      if (username !== null) this.#byUsername.set(username, actor);
    }
  }

  byKey(key: string): Actor {
    return this.#byKey.get(key) ?? unknownActor(key);
  }

  of({ entry: { fields } }: AuditRow): Actor {
    const { token_key, username } = fields;
    if (typeof token_key === "string") return this.byKey(token_key);
    if (typeof username !== "string") return unknownActor("");
    return this.#byUsername.get(username) ?? unknownActor(username);
  }
}

function unknownActor(id: string): Actor {
  return { id, label: id, isSuper: false, exists: false };
}

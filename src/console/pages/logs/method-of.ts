import { credentialParams, type LogEntry } from "../../../client/index.ts";

/** Method of the call that an entry belongs to: the server logs a call in the span `token::create` of the method `token_create`. */
export function methodOf({ spans }: Pick<LogEntry, "spans">): string | undefined {
  return spans
    .map(({ name }) => name.replace("::", "_"))
    .find((method) => Object.hasOwn(credentialParams, method));
}

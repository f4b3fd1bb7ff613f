import type { Server } from "bun";
import { plainText } from "../content/plain.ts";

/**
 * The client's address, taken when its request arrives: later it may have hung up, and then nobody knows it. Undefined: it has
 * hung up already, so there is nobody to work for, and a guess that is counted for nobody must not be checked.
 */
export function addressOf(request: Request, server: Server<unknown>): string | undefined {
  return server.requestIP(request)?.address ?? (server.port === undefined ? "local" : undefined);
}

/** The answer that nobody hears. */
export function clientLeft(): Response {
  return plainText(400, "400 Bad Request: the client has left.");
}

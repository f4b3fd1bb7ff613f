import type { Server } from "bun";
import { plainText } from "../content/plain.ts";

/**
 * addressOf returns the client's IP address. Call it when the request arrives: Bun forgets it when the client disconnects.
 * Undefined: the client has disconnected already. Its request must not be served, because a failed password could not be counted
 * against an address.
 */
export function addressOf(request: Request, server: Server<unknown>): string | undefined {
  return server.requestIP(request)?.address ?? (server.port === undefined ? "local" : undefined);
}

/** clientLeft is the response to a client that has disconnected; it is not sent. */
export function clientLeft(): Response {
  return plainText(400, "400 Bad Request: the client has disconnected.");
}

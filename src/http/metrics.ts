import { authorise } from "../auth/authorise.ts";
import type { Caller } from "../auth/caller.ts";
import { globally } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { formatFor, formatMetrics } from "../metrics/text-format.ts";
import { plainText } from "./content/plain.ts";
import type { Protocol } from "./pipeline.ts";
import { authenticate, type Challenge, refusalOf } from "./request/authentication.ts";
import { isFromBrowser } from "./request/browser-request.ts";
import { textResponse } from "./request/response-size.ts";

const need = globally("node.metrics");
const asksFor =
  'this address needs a token with {"node": "metrics"}: Authorization: Bearer <key>:<secret>, or Basic with key and secret, or user name and password';
const challenge: Challenge = { realm: "Node Server Metrics", forPrograms: asksFor, forBrowsers: asksFor };

/** metrics answers `GET /node/metrics` in the text format that the client prefers. */
export const metrics: Protocol<Caller, undefined> = {
  name: "metrics",
  takesBodies: false,
  async who(received) {
    const caller = await authenticate(received, challenge);
    authorise(caller, need);
    return caller;
  },
  async answer({ request, services }) {
    const format = formatFor(request.headers.get("accept"));
    return textResponse(await formatMetrics(await services.metrics.gather(), format), {
      headers: {
        "content-type": format.contentType,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        vary: "accept",
      },
    });
  },
  toResponse(error, { request }) {
    if (error instanceof Fault && error.kind === "PermissionDenied")
      return plainText(403, `403 ${error.message}; give the token {"node": "metrics"}.`);
    const response = refusalOf(error, request, challenge);
    // Programs may also use Bearer.
    const given = response.headers.get("www-authenticate");
    if (given !== null && !isFromBrowser(request))
      response.headers.set("www-authenticate", `Bearer realm="${challenge.realm}", ${given}`);
    return response;
  },
};

import { authorise } from "../auth/authorise.ts";
import { globally } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { formatFor, formatMetrics } from "../metrics/text-format.ts";
import type { Lease } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { plainText, serviceUnavailable } from "./content/plain.ts";
import { authenticate, type Challenge } from "./request/authentication.ts";
import { isFromBrowser } from "./request/browser-request.ts";
import type { Delays } from "./request/connection-limiter.ts";
import { HttpError } from "./request/http-error.ts";
import { textResponse } from "./request/response-size.ts";

interface MetricsRouteOptions {
  readonly acquire: () => Lease<Services>;
  readonly delays: Delays;
}

const need = globally("node.metrics");
const asksFor =
  'this address needs a token with {"node": "metrics"}: Authorization: Bearer <key>:<secret>, or Basic with key and secret, or user name and password';
const challenge: Challenge = { realm: "Node Server Metrics", forPrograms: asksFor, forBrowsers: asksFor };

/** serveMetrics answers `GET /node/metrics` in the text format that the client prefers. */
export async function serveMetrics(
  request: Request,
  address: string,
  { acquire, delays }: MetricsRouteOptions,
): Promise<Response> {
  const { services, authenticator, release } = acquire();
  try {
    authorise(await authenticate(request, { address, delays, challenge }, authenticator), need);
    const format = formatFor(request.headers.get("accept"));
    return textResponse(await formatMetrics(await services.metrics.gather(), format), {
      headers: {
        "content-type": format.contentType,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        vary: "accept",
      },
    });
  } catch (error) {
    if (error instanceof HttpError) return refuse(request, error);
    if (!(error instanceof Fault)) throw error;
    if (error.kind === "PermissionDenied")
      return plainText(403, `403 ${error.message}; give the token {"node": "metrics"}.`);
    return serviceUnavailable(error.detail);
  } finally {
    release();
  }
}

/** Programs may also use Bearer. */
function refuse(request: Request, { status, detail, options }: HttpError): Response {
  const given = options.headers?.["www-authenticate"] ?? "";
  const schemes = isFromBrowser(request) ? given : `Bearer realm="${challenge.realm}", ${given}`;
  return plainText(status, `${status} Unauthorized: ${detail}.`, { "www-authenticate": schemes });
}

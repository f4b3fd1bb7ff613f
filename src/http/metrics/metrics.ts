import { authorise } from "../../auth/authorise.ts";
import { globally } from "../../auth/need.ts";
import { Fault } from "../../base/fault.ts";
import { formatFor, formatMetrics } from "../../metrics/text-format.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import { plainText, serviceUnavailable } from "../content/plain.ts";
import type { Delays } from "../request/connection-limiter.ts";
import { textResponse } from "../request/response-size.ts";
import { authenticate } from "../webdav/authentication.ts";
import { isFromBrowser } from "../webdav/browser-request.ts";
import { HttpError } from "../webdav/http-error.ts";

export interface MetricsRouteOptions {
  readonly acquire: () => Lease<Services>;
  readonly delays: Delays;
}

const need = globally("node.metrics");
const realm = 'realm="Node Server Metrics"';
const bearerChallenge = `Bearer ${realm}`;
const basicChallenge = `Basic ${realm}, charset="UTF-8"`;

/** serveMetrics answers `GET /node/metrics` in the text format that the client prefers. */
export async function serveMetrics(
  request: Request,
  address: string,
  { acquire, delays }: MetricsRouteOptions,
): Promise<Response> {
  const { services, authenticator, release } = acquire();
  try {
    authorise(await authenticate(request, { address, delays }, authenticator), need);
    const format = formatFor(request.headers.get("accept"));
    return textResponse(await formatMetrics(await services.metrics().gather(), format), {
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

/** A browser gets the scheme that it does not know: it would ask for a password, and keep it for every page of this server. */
function refuse(request: Request, { status, detail }: HttpError): Response {
  const why = request.headers.has("authorization")
    ? detail
    : 'this address asks for a token with {"node": "metrics"}: Authorization: Bearer <key>:<secret>, or Basic with key and secret, or user name and password';
  const challenge = isFromBrowser(request) ? bearerChallenge : `${bearerChallenge}, ${basicChallenge}`;
  return plainText(status, `${status} Unauthorized: ${why}.`, { "www-authenticate": challenge });
}

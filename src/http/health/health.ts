import { retryAfterSeconds } from "../../base/fault.ts";
import { textResponse } from "../request/response-size.ts";
import type { Readiness } from "./readiness.ts";

export interface HealthOptions {
  readonly version: string;
  readonly uptimeMs: () => number;
  readonly readiness: Readiness;
  /** The codes of what is wrong between this node and others (`nodes.…` in docs/events.md). */
  readonly warnings: () => readonly string[];
}

const headers = {
  "content-type": "application/json",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** serveHealth answers `GET /node/health`: the process is alive. It uses neither the database nor the disk. */
export function serveHealth({ version, uptimeMs, readiness, warnings: present }: HealthOptions): Response {
  const warnings = present();
  return json(
    {
      status: "ok",
      version,
      uptime_ms: uptimeMs(),
      ...(readiness.isDraining && { draining: true }),
      ...(warnings.length > 0 && { warnings }),
    },
    { headers },
  );
}

/** serveReady answers `GET /node/ready`: 200, or 503 with the missing parts. It names no host and no path, because anybody may ask. */
export async function serveReady({ readiness }: HealthOptions): Promise<Response> {
  const missing = await readiness.missing();
  if (missing.length === 0) return json({ status: "ready" }, { headers });
  return json(
    { status: "unavailable", missing },
    { status: 503, headers: { ...headers, "retry-after": String(retryAfterSeconds) } },
  );
}

function json(value: unknown, init: ResponseInit): Response {
  return textResponse(`${JSON.stringify(value)}\n`, init);
}

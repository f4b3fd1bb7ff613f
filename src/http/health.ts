import type { Caller } from "../auth/caller.ts";
import { authorise, globally } from "../auth/need.ts";
import { atMost, type Clock } from "../base/clock.ts";
import { SharedRuns } from "../base/concurrency.ts";
import { Fault, messageOf, retryAfterSeconds } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import { formatFor, formatMetrics } from "../metrics/text-format.ts";
import { judgeParts } from "../metrics/verdict.ts";
import type { Lease } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { plainText, textResponse } from "./content/plain.ts";
import type { Protocol } from "./pipeline.ts";
import { authenticate, type Challenge, refusalOf } from "./request/authentication.ts";
import { isFromBrowser } from "./request/browser-request.ts";

export interface HealthOptions {
  readonly version: string;
  readonly uptimeMs: () => number;
  readonly readiness: Readiness;
  /** The codes of what is wrong between this node and others (`nodes.…` in docs/events.md). */
  readonly warnings: () => readonly string[];
  /** Whether the last run did not end by a stop. */
  readonly crashed: () => boolean;
}

const headers = {
  "content-type": "application/json",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** serveHealth answers `GET /node/health`: the process is alive. It uses neither the database nor the disk. */
export function serveHealth(options: HealthOptions): Response {
  const { version, uptimeMs, readiness } = options;
  const warnings = options.warnings();
  return json(
    {
      status: "ok",
      version,
      uptime_ms: uptimeMs(),
      ...(options.crashed() && { crashed: true }),
      ...(readiness.isDraining && { draining: true }),
      ...(warnings.length > 0 && { warnings }),
      ...verdictOn(readiness, readiness.lastMissing),
    },
    { headers },
  );
}

/**
 * serveReady answers `GET /node/ready`: 200, or 503 with the missing parts. It names no host and no path, because anybody may ask. A
 * database that refuses changes is told and takes no node away: files are served, and no other node could write to it either.
 */
export async function serveReady({ readiness }: HealthOptions): Promise<Response> {
  const missing = await readiness.missing();
  const more = { ...(!readiness.acceptsWrites && { writes: false }), ...verdictOn(readiness, missing) };
  if (missing.length === 0) return json({ status: "ready", ...more }, { headers });
  return json(
    { status: "unavailable", missing, ...more },
    { status: 503, headers: { ...headers, "retry-after": String(retryAfterSeconds) } },
  );
}

/** The verdict on the parts and its reasons, as `node-server_status` gives them; nothing if all is well with them. */
function verdictOn({ acceptsWrites }: Readiness, missing: readonly string[]) {
  const judged = judgeParts(missing, acceptsWrites);
  return judged.verdict === "well" ? {} : judged;
}

function json(value: unknown, init: ResponseInit): Response {
  return textResponse(`${JSON.stringify(value)}\n`, init);
}

/**
 * RequiredPart is what a server needs to be ready. `schema`: a newer version has changed the database so that this one cannot work with
 * it. `draining`: it is up, but stops or restarts shortly.
 */
type RequiredPart = "database" | "schema" | "store" | "draining";

/** A check is valid for this long, however many requests come. */
const validMs = 1000;
/** A database that has not answered after this time is missing. */
const maxAnswerMs = 2000;

interface ReadinessOptions {
  readonly acquire: () => Lease<Services>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Readiness tells whether the server can do its work. It asks the database and the store for real, at most once a second. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #drainingSince: number | undefined;
  readonly #checks = new SharedRuns<readonly RequiredPart[]>();
  #checkedAt = Number.NEGATIVE_INFINITY;
  #missing: readonly RequiredPart[] = [];
  /** No second statement is sent while the database has not answered the first. A run resolves to what is missing. */
  readonly #questions = new SharedRuns<"database" | "schema" | undefined>();
  #fitsSchema = true;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Makes the server not ready from now on: it stops or restarts, and clients should go elsewhere. */
  startDraining(): void {
    this.#drainingSince ??= this.#options.clock.monotonic();
  }

  get isDraining(): boolean {
    return this.#drainingSince !== undefined;
  }

  /** Milliseconds since `startDraining`; 0 before. */
  get drainingMs(): number {
    return this.#drainingSince === undefined ? 0 : this.#options.clock.monotonic() - this.#drainingSince;
  }

  /** Whether the database accepted the last change. The heartbeat tries again after a refusal. */
  get acceptsWrites(): boolean {
    const { services, release } = this.#options.acquire();
    try {
      return services.database.acceptsWrites;
    } finally {
      release();
    }
  }

  /** What is known to be missing, without asking. */
  get lastMissing(): readonly RequiredPart[] {
    const { services, release } = this.#options.acquire();
    try {
      const missing: RequiredPart[] = [];
      if (!services.database.isReachable) missing.push("database");
      else if (!this.#fitsSchema) missing.push("schema");
      if (services.buckets.storage.health.isLost) missing.push("store");
      return this.isDraining ? [...missing, "draining"] : missing;
    } finally {
      release();
    }
  }

  /** Returns what is missing; nothing if the server is ready. Does not reject. */
  async missing(): Promise<readonly RequiredPart[]> {
    const missing =
      this.#options.clock.monotonic() - this.#checkedAt < validMs
        ? this.#missing
        : await this.#checks.join("", () => this.#check());
    return this.isDraining ? [...missing, "draining"] : missing;
  }

  /**
   * Asks the database, but takes the state of the store as of its last check, which for a remote store is several requests: for
   * what asks regularly by itself. Does not reject.
   */
  async isReady(): Promise<boolean> {
    const { services, release } = this.#options.acquire();
    try {
      return (
        (await this.#askDatabase(services)) === undefined &&
        !services.buckets.storage.health.isLost &&
        !this.isDraining
      );
    } finally {
      release();
    }
  }

  async #check(): Promise<readonly RequiredPart[]> {
    const startedAt = this.#options.clock.monotonic();
    const { services, release } = this.#options.acquire();
    try {
      const { health } = services.buckets.storage;
      const [lacking] = await Promise.all([this.#askDatabase(services), health.check()]);
      const missing: RequiredPart[] = [];
      if (lacking !== undefined) missing.push(lacking);
      if (health.isLost) missing.push("store");
      this.#missing = missing;
      this.#checkedAt = startedAt;
      return missing;
    } finally {
      release();
    }
  }

  /** Returns what is missing; undefined if the database answers and its schema is one that this version can work with. */
  async #askDatabase({ database }: Services): Promise<"database" | "schema" | undefined> {
    const asking = this.#questions.join("", () =>
      database.newerMigrations().then(
        (newer) => this.#judgeSchema(newer.findLast(({ isCompatible }) => !isCompatible)),
        (error: unknown) => {
          // Losses have log lines of their own.
          this.#options.log.debug("the readiness check failed", { reason: messageOf(error) });
          return "database" as const;
        },
      ),
    );
    return atMost(asking, { ms: maxAnswerMs, late: "database" as const });
  }

  /** Reports a migration that this version cannot work with, and its end, once each. */
  #judgeSchema(
    refused: { readonly version: string; readonly by?: string } | undefined,
  ): "schema" | undefined {
    const { log } = this.#options;
    const fits = refused === undefined;
    if (fits !== this.#fitsSchema) {
      this.#fitsSchema = fits;
      // The heartbeat, whose statements are not logged, may be the first to notice.
      outsideSpans(() => {
        if (fits) log.event("database.schema_accepted", "the schema can be used again", {});
        else
          log.event(
            "database.schema_refused",
            "a newer version has changed the database, and this one cannot work with it: the node is not ready; update it",
            { migration: refused.version, by: refused.by },
          );
      });
    }
    return fits ? undefined : "schema";
  }
}

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

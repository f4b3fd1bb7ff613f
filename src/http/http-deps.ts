import type { AuditLog } from "../auth/audit-log.ts";
import type { Clock } from "../base/clock.ts";
import { MemoryBudget } from "../base/memory-budget.ts";
import type { Turns } from "../base/turns.ts";
import type { BucketCache } from "../buckets/bucket-cache.ts";
import type { ConsoleFiles } from "../bundle.ts";
import type { Logger } from "../log/hub.ts";
import type { Engine } from "../rpc/engine.ts";
import type { Lease } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { Console } from "./console/console.ts";
import { Compression } from "./content/compression.ts";
import { ContentBudget } from "./content/content-budget.ts";
import type { HealthOptions } from "./health.ts";
import type { SocketTraffic } from "./jsonrpc/rpc-socket.ts";
import { idleSeconds } from "./pipeline.ts";
import { previewOptions } from "./preview/preview.ts";
import { ClientAddresses } from "./request/client-address.ts";
import { ConnectionLimiter, Delays, UnsizedBodies } from "./request/connection-limiter.ts";
import { type S3Settings, ServerNames } from "./request/host-name.ts";
import { RequestObservers } from "./request/request-observer.ts";
import type { HttpDeps } from "./routes.ts";
import { MemoryCache } from "./static/memory-cache.ts";
import type { StaticOptions } from "./static/serve.ts";

/** HttpLimits are the configured bounds of what clients of HTTP may use. */
export interface HttpLimits {
  readonly maxConnections: number;
  readonly maxRequestBytes: number;
  readonly clientBytes: number;
  readonly maxCacheBytes: number;
  readonly maxUploadBytes: number;
  readonly console: boolean;
}

export interface HttpOptions {
  /** The present limits; a reload changes them. */
  readonly limits: () => HttpLimits;
  /** Where the server speaks S3 at present. */
  readonly s3: () => S3Settings;
  readonly engine: Engine<Services>;
  readonly acquire: () => Lease<Services>;
  /** The present records of buckets. */
  readonly records: () => BucketCache;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly traffic: SocketTraffic;
  readonly health: HealthOptions;
  readonly loadConsole: () => Promise<ConsoleFiles>;
  readonly log: Logger;
}

/** newHttpDeps makes what the routes of all listeners share. */
export function newHttpDeps({ limits, records, loadConsole, log, ...shared }: HttpOptions): HttpDeps {
  const contentBudget = new ContentBudget(idleSeconds * 1000, shared.clock);
  const memory = new MemoryBudget(() => limits().clientBytes);
  const addresses = new ClientAddresses();
  const staticOptions: StaticOptions = {
    cache: new MemoryCache({ maxBytes: () => limits().maxCacheBytes, records }),
    compression: new Compression(contentBudget),
    contentBudget,
  };
  return {
    ...shared,
    records,
    addresses,
    names: new ServerNames(),
    observers: new RequestObservers(),
    jsonRpc: {
      engine: shared.engine,
      addresses,
      connections: new ConnectionLimiter(() => limits().maxConnections),
      memory,
      unsizedBodies: new UnsizedBodies(1),
      delays: new Delays(1000, shared.clock),
      maxRequestBytes: () => limits().maxRequestBytes,
    },
    memory,
    unsizedBodies: new UnsizedBodies(4),
    // Bun buffers up to a megabyte of the body of each.
    delays: new Delays(64, shared.clock),
    static: staticOptions,
    preview: previewOptions(staticOptions, records),
    maxUploadBytes: () => limits().maxUploadBytes,
    console: new Console({ isOn: () => limits().console, load: loadConsole, log, clock: shared.clock }),
  };
}

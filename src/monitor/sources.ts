import type { Clock } from "../base/clock.ts";
import type { MemoryBudget } from "../base/memory-budget.ts";
import type { Readiness } from "../http/health.ts";
import { SocketTraffic } from "../http/jsonrpc/rpc-socket.ts";
import type { ListenerSlot } from "../http/listen/listener-slot.ts";
import type { ConnectionLimiter } from "../http/request/connection-limiter.ts";
import { handlerNames } from "../http/request/request-observer.ts";
import type { MemoryCache } from "../http/static/memory-cache.ts";
import type { LogHub } from "../log/hub.ts";
import type { SiblingMetrics } from "../metrics/metrics.ts";
import { CallMetrics, RequestMetrics, StatementMetrics } from "../metrics/recorders.ts";
import type { Services } from "../services.ts";

/** Recorders are called while the server works; everything else is read when somebody asks for the metrics. */
export class Recorders {
  readonly requests = new RequestMetrics(handlerNames);
  readonly calls = new CallMetrics();
  readonly statements = new StatementMetrics();
  readonly traffic = new SocketTraffic();
}

/** MetricSources is what the metrics are read from. */
export interface MetricSources {
  readonly recorders: Recorders;
  readonly hub: LogHub;
  readonly listeners: readonly ListenerSlot[];
  readonly connections: ConnectionLimiter;
  readonly maxConnections: () => number;
  readonly memory: MemoryBudget;
  readonly maxClientBytes: () => number;
  readonly cache: MemoryCache;
  readonly readiness: Readiness;
  readonly failedSignIns: () => number;
  /** The present services. */
  readonly services: () => Services;
  /** Those of the other processes, if the server has several. */
  readonly siblings: SiblingMetrics | undefined;
  readonly clock: Clock;
}

/** `loadOf` returns the number of HTTP requests that are being answered, and of open WebSockets, on all listeners. */
export function loadOf({ listeners }: MetricSources) {
  let [requests, sockets] = [0, 0];
  for (const { load } of listeners) {
    requests += load.requests;
    sockets += load.sockets;
  }
  return { requests, sockets };
}

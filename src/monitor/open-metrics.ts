// This folder connects the metrics with the parts of the node, which do not know that they are measured. sources.ts
// lists what is read: services, listeners and the recorders that are called while the server works. families.ts and
// disk-space.ts turn the sources into families, series.ts chooses the series that charts of the last day need.
// openMetrics of this file puts them together into one Metrics object.

import { messageOf } from "../base/fault.ts";
import type { Family } from "../metrics/family.ts";
import { Metrics } from "../metrics/metrics.ts";
import { ProcessMetrics } from "../metrics/process-metrics.ts";
import { recentMs } from "../metrics/verdict.ts";
import { DiskSpace } from "./disk-space.ts";
import {
  buildFamilies,
  certificateFamilies,
  componentFamilies,
  connectionFamilies,
  logFamilies,
  statusFamily,
  storeFamilies,
} from "./families.ts";
import { historySeries } from "./series.ts";
import type { MetricSources } from "./sources.ts";

/** `openMetrics` connects the parts of the node with the metrics that describe them. The caller starts and closes them. */
export function openMetrics(sources: MetricSources): Metrics {
  const own = new ProcessMetrics();
  const disks = new DiskSpace(sources.services);
  const log = sources.hub.logger("server");
  const { requests, calls, statements } = sources.recorders;
  const measured: readonly Family[] = [
    ...buildFamilies(),
    ...requests.families,
    ...connectionFamilies(sources),
    ...calls.families,
    ...certificateFamilies(sources),
    ...logFamilies(sources),
    ...statements.families,
    ...componentFamilies(sources),
    ...storeFamilies(sources),
    ...disks.families,
    ...own.families,
  ];
  const recent = () => metrics.history({ since: sources.clock.now() - recentMs })[0];
  const metrics = new Metrics({
    families: [...measured, statusFamily({ ...sources, families: () => measured, recent })],
    series: historySeries(sources, own, disks),
    siblings: sources.siblings,
    clock: sources.clock,
    async measure() {
      try {
        await Promise.all([own.measure(), disks.measure()]);
      } catch (error) {
        log.debug("some metrics cannot be measured", { reason: messageOf(error) });
      }
    },
    start: () => own.start(),
    close: () => own.close(),
  });
  return metrics;
}

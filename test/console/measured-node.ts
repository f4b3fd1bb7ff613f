import { z } from "zod";
import { globally } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";

const anything = z.unknown();
const day = 86_400_000;

/** A value between 0 and 1 for each moment: busy by day, quiet by night, and never quite the same. */
function wave(at: number, phase: number): number {
  return 0.55 + 0.3 * Math.sin((at / day) * 6.3 + phase) + 0.15 * Math.sin(at / 97_000 + phase * 3);
}

const scales: Readonly<Record<string, number>> = {
  requests_static: 14,
  requests_jsonrpc: 3,
  requests_webdav: 1.5,
  requests_upload: 0,
  responses_4xx: 0.3,
  request_seconds_p99: 0.08,
  request_seconds_p50: 0.004,
  sent_bytes: 900_000,
  received_bytes: 60_000,
  cpu_seconds: 0.12,
  resident_bytes: 180e6,
  open_sockets: 40,
  websockets: 6,
  event_loop_delay_seconds_p99: 0.004,
  disk_free_static_bytes: 420e9,
  disk_free_database_bytes: 420e9,
};

function history(series: readonly string[], since: number, now: number) {
  return [
    { step_seconds: 10, steps: 360 },
    { step_seconds: 60, steps: 1440 },
  ].map(({ step_seconds, steps }) => {
    const stepMs = step_seconds * 1000;
    const last = Math.floor(now / stepMs) * stepMs;
    const count = Math.max(0, Math.min(steps, Math.ceil((last - since) / stepMs)));
    const start = last - (count - 1) * stepMs;
    const values = (name: string, phase: number) =>
      Array.from({ length: count }, (_, at) => (scales[name] ?? 0) * wave(start + at * stepMs, phase));
    return {
      step_seconds,
      start: count === 0 ? null : start,
      series: Object.fromEntries(series.map((name, at) => [name, values(name, at)])),
    };
  });
}

const gauge = (name: string, values: Readonly<Record<string, number>>, label = "disk") => ({
  name,
  type: "gauge",
  help: "",
  samples: Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
});

/** Methods of a server that has measured itself for `measuredMs`, a day unless it is given. */
export function measuredMethods({ asked = [] as unknown[], measuredMs = day } = {}) {
  return {
    "node-server_metrics": method({
      doc: "Answers like a server that has run for a day.",
      need: globally("node.metrics"),
      effect: "reads",
      params: { since: z.number().nullish(), series: z.array(z.string()).nullish() },
      result: anything,
      run: (_, { since, series }) => {
        asked.push(since);
        return {
          time: Date.now(),
          metrics: [
            gauge("node_server_disk_free_bytes", { static: 420e9 }),
            gauge("node_server_disk_size_bytes", { static: 1e12 }),
            gauge("node_server_bucket_files", { site: 1204, media: 318, backups: 12 }, "bucket"),
            gauge("node_server_bucket_bytes", { site: 48e6, media: 9.3e9, backups: 2.1e9 }, "bucket"),
          ],
          history: history(series ?? [], Math.max(since ?? 0, Date.now() - measuredMs), Date.now()),
        };
      },
    }),
  };
}

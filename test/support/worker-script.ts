/** runWorker is the body of a script that a WorkerProcess runs; `stopped` is aborted when the test calls `stop`. */
export async function runWorker<Spec, Report>(
  work: (spec: Spec, stopped: AbortSignal) => Promise<Report>,
): Promise<never> {
  const stop = new AbortController();
  process.stdin.on("end", () => stop.abort()).resume();
  const report = await work(JSON.parse(process.argv[2] ?? "{}") as Spec, stop.signal);
  await Bun.write(Bun.stdout, `${JSON.stringify(report)}\n`);
  process.exit(0);
}

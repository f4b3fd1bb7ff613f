/** What reads or waits for the time of the machine. */
const systemTime = /\b(?:Date\.now|setTimeout|setInterval|Bun\.sleep)\b/;

/**
 * Files of the server that may use the time of the machine, and why. All others take a `Clock`, so that a story can turn it: a time that is
 * read elsewhere is one that a story has to wait for.
 */
const allowed: Readonly<Record<string, string>> = {
  "src/base/clock.ts": "is the clock of the system",
  "src/base/fair-semaphore.ts": "bounds a wait behind real work",
  "src/base/leftovers.ts": "compares with the times of files",
  "src/base/read-regular.ts": "bounds an answer of the disk",
  "src/backup/unfinished-backup.ts": "compares with the times of files",
  "src/buckets/bucket-usage.ts": "rests in proportion to real work",
  "src/buckets/disk/trash/trash-care.ts": "rests in proportion to real work",
  "src/buckets/file-reader.ts": "compares with the times of files",
  "src/buckets/objects/cache-index.ts": "gives times to files",
  "src/buckets/objects/deadline.ts": "bounds an answer of the blob store",
  "src/buckets/objects/folder-unfinished.ts": "compares with the times of files",
  "src/buckets/objects/look-afterwards.ts": "pauses between statements while the database is away",
  "src/buckets/objects/restored-trees.ts": "runs in a command, without a node",
  "src/buckets/objects/s3-blobs.ts": "compares with the times of blobs",
  "src/buckets/objects/s3-requests.ts": "pauses between requests to the blob store",
  "src/db/dump/postgres-load-target.ts": "runs in a command, without a node",
  "src/db/notifications.ts": "bounds an answer of PostgreSQL",
  "src/db/operator/postgres/postgres-operator.ts": "bounds how long PostgreSQL takes to cancel",
  "src/db/operator/postgres/wire.ts": "bounds an answer of PostgreSQL",
  "src/db/operator/sqlite/sqlite-child.ts": "takes requests back from a process that is slow",
  "src/db/postgres-pool.ts": "bounds an answer of PostgreSQL",
  "src/db/sqlite-busy.ts": "pauses while another process writes",
  "src/http/jsonrpc/rpc-socket.ts": "reads a paused socket to notice that its client left",
  "src/metrics/process-metrics.ts": "measures the delay of the event loop",
  "src/update/download.ts": "bounds a download",
  "src/update/smoke-test.ts": "waits for another process",
};

/** Modules that are not part of a node: a browser, a command and a client have the time of their own machine. */
const otherPrograms = /^src\/(?:console|cli|client)\//;

/** `systemTimes` lists the lines of the server that use the time of the machine instead of a `Clock`, and files that need no exception any more. */
export async function systemTimes(): Promise<string[]> {
  const complaints: string[] = [];
  const unused = new Set(Object.keys(allowed));
  for await (const path of new Bun.Glob("src/**/*.ts").scan(".")) {
    if (otherPrograms.test(path)) continue;
    for (const [at, line] of (await Bun.file(path).text()).split("\n").entries()) {
      if (!systemTime.test(line)) continue;
      unused.delete(path);
      if (allowed[path] === undefined)
        complaints.push(
          `${path}:${at + 1}: takes the time of the machine; take a Clock (src/base/clock.ts): ${line.trim()}`,
        );
    }
  }
  return [
    ...complaints,
    ...[...unused].map((path) => `${path}: needs no exception in scripts/clock-uses.ts`),
  ];
}

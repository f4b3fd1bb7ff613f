import { Database } from "bun:sqlite";
import { rm } from "node:fs/promises";
import { type Line, megabytes, ms, type Pace, printTable } from "./figures.ts";
import { helloQuantile } from "./latency.ts";
import { type Bench, call, firstAnswer, launch, request, superToken } from "./servers.ts";

/** How long the sizes of a large SQLite file take, and what others feel meanwhile. */
export async function storage({ ours, databasePath }: Bench, { quick }: Pace): Promise<Line[]> {
  const bytes = quick ? 100e6 : 1e9;
  fill(databasePath, bytes);
  try {
    await using server = launch(ours);
    await firstAnswer(server);
    const idle = await helloQuantile(server, 200, 0.99);
    const begin = performance.now();
    const sizes = call(server.url, request("node-server_database_storage", [superToken])).then((answer) => ({
      answer,
      time: performance.now() - begin,
    }));
    const busy = await helloQuantile(server, 200, 0.99);
    const { answer, time } = await sizes;
    const { result } = JSON.parse(answer) as { result: { total: number } };
    printTable(
      `database_storage on a SQLite file of ${megabytes(Bun.file(databasePath).size)}`,
      ["tables hold", "answered in", "hello p99 idle", "hello p99 meanwhile"],
      [[megabytes(result.total), ms(time), ms(idle), ms(busy)]],
    );
  } finally {
    using file = new Database(databasePath);
    file.run("DROP TABLE IF EXISTS bench_bulk");
    file.run("VACUUM");
    await rm(`${databasePath}-journal`, { force: true });
  }
  return [];
}

function fill(path: string, bytes: number): void {
  using file = new Database(path);
  file.run("CREATE TABLE IF NOT EXISTS bench_bulk (id INTEGER PRIMARY KEY, content BLOB)");
  const rows = Math.ceil(bytes / 4000);
  file.run(
    `INSERT INTO bench_bulk (content) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT randomblob(3900) FROM n`,
  );
}

import { expect } from "bun:test";
import { requestOf } from "../support/attackers.ts";
import { type DatabaseKind, databaseKinds } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";
import { type LockRow, lockInfo, storeLocks } from "../support/webdav-locks.ts";

const attackMs = 4000;
const [files, names, namespaceChars, atOnce] = [1000, 9900, 1000, 4];
/** Short names that fit into the 64 KiB that a PROPFIND may name. */
const allowedNames = 8000;
const [storedLocks, lockHolders, lockers] = [10_000, 20, 20];

function manyFiles(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: files }, (_, number) => [`file-${number}.txt`, "words"]));
}

function davRequest({ server }: WatchedServer, line: string, body: string, ...headers: string[]): string {
  const authorization = `Authorization: Basic ${btoa(server.superToken)}`;
  return `${requestOf(line, authorization, `Content-Length: ${Buffer.byteLength(body)}`, ...headers)}${body}`;
}

const propfindOf = (namespace: string, count: number) =>
  `<D:propfind xmlns:D="DAV:" xmlns:x="${namespace}"><D:prop>${Array.from({ length: count }, (_, at) => `<x:a${at}/>`).join("")}</D:prop></D:propfind>`;

const propfinds = {
  "in a long namespace": propfindOf("u".repeat(namespaceChars), names),
  "in a short namespace": propfindOf("u", names),
  "that are just allowed": propfindOf("u", allowedNames),
};

for (const [what, body] of Object.entries(propfinds)) {
  attackTest(`F7: PROPFIND of many names on many files is bounded: names ${what}`, async () => {
    await using target = await WatchedServer.withBucket(manyFiles());
    await target.survives(`F7 ${atOnce} PROPFIND of names ${what}`, async () => {
      const { statuses, heardBytes } = await target.attack(attackMs, {
        connections: atOnce,
        awaitsAnswers: true,
        payload: davRequest(target, "PROPFIND /node/static-webdav/b/", body, "Depth: 1"),
      });
      console.log(
        `F7 names ${what}: statuses ${JSON.stringify(statuses)}, ${Math.round(heardBytes / 1e6)} MB read`,
      );
      expect(Object.values(statuses)).toEqual([atOnce]);
    });
  });
}

const largeFiles = 200;
/** SQLite commits the 200 MB of a COPY in one step. */
const maxCommitMs = 10_000;
/** One property of nearly 1 MiB for each of them. */
const largeProperties = `
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${largeFiles})
  INSERT INTO kv (namespace, key, value)
  SELECT 'static-webdav/properties/b', '/folder/' || i,
    json_object('{u}a', '<n:a xmlns:n="u">' || hex(zeroblob(480000)) || '</n:a>') FROM n`;

for (const verb of ["PROPFIND", "COPY"]) {
  attackTest(
    `a ${verb} of a folder of files with large properties holds a few of them at a time`,
    async () => {
      await using target = await WatchedServer.withBucket();
      const { server } = target;
      for (let file = 1; file <= largeFiles; file += 1)
        await server.call("static-bucket-file_upload", [server.superToken, "b", `folder/${file}`, "x"]);
      const stored = await server.call("node-server_exec_sql", [server.superToken, largeProperties]);
      expect(stored).toMatchObject({ row_count: largeFiles });
      const attack = async () => {
        const { statuses } = await target.attack(4 * attackMs, {
          connections: 1,
          awaitsAnswers: true,
          payload: davRequest(
            target,
            `${verb} /node/static-webdav/b/folder/`,
            "",
            `Depth: ${verb === "COPY" ? "infinity" : 1}`,
            "Destination: /node/static-webdav/b/copy/",
          ),
        });
        console.log(`${verb}: statuses ${JSON.stringify(statuses)}`);
      };
      await target.survives(
        `${verb} of 200 MB of properties`,
        attack,
        verb === "COPY" ? maxCommitMs : undefined,
      );
    },
  );
}

const lockDiscovery = '<D:propfind xmlns:D="DAV:"><D:prop><D:lockdiscovery/></D:prop></D:propfind>';

/** As many locks as a bucket may have, of tokens that exist: locks of deleted ones are removed by the first request that meets them. */
async function manyLocks({ server }: WatchedServer): Promise<LockRow[]> {
  const until = Date.now() + 3_600_000;
  const tokens = await Promise.all(
    Array.from({ length: lockHolders }, () =>
      server.call("token_create", [server.superToken, { token_limit: [] }]),
    ),
  );
  const keys = tokens.map((token) => (token as { key: string }).key);
  return Array.from({ length: storedLocks }, (_, number) => ({
    path: `file-${number}.txt`,
    holder: keys[number % lockHolders] ?? "",
    until,
  }));
}

/** A database for a server process; without a URL it is the SQLite file in the server's own folder. */
async function databaseOf(kind: DatabaseKind): Promise<AsyncDisposable & { url?: string }> {
  if (kind === "sqlite") return { async [Symbol.asyncDispose]() {} };
  const { url, drop } = await newPostgresDatabase();
  return { url, [Symbol.asyncDispose]: drop };
}

for (const kind of databaseKinds) {
  attackTest(`F8: a bucket full of locks does not hold up others (${kind})`, async () => {
    await using database = await databaseOf(kind);
    await using target = await WatchedServer.withBucket(manyFiles(), database.url);
    await storeLocks(target.server, "b", await manyLocks(target));
    await target.survives(`F8 ${storedLocks} locks (${kind})`, async () => {
      const paths = Array.from({ length: lockers }, (_, number) => `/node/static-webdav/b/new-${number}`);
      const payload = [
        ...paths.map((path) => davRequest(target, `LOCK ${path}`, lockInfo)),
        ...paths.map((path) => davRequest(target, `PUT ${path}.txt`, "words")),
        davRequest(target, "LOCK /node/static-webdav/b/", lockInfo, "Depth: infinity"),
        davRequest(target, "PROPFIND /node/static-webdav/b/", lockDiscovery, "Depth: 1"),
      ];
      const { statuses } = await target.attack(attackMs, {
        connections: payload.length,
        awaitsAnswers: true,
        payload,
      });
      console.log(`F8 (${kind}): statuses ${JSON.stringify(statuses)}`);
      expect(statuses["0"]).toBeUndefined();
    });
  });
}

import { expect } from "bun:test";
import { eachStore, testNode } from "../support/node.ts";
import { roundsOf } from "../support/random.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { hrefsIn, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
const times = <T>(count: number, work: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => work(n));

/** One byte value from end to end, so that a mixture of two cannot pass for either. */
const version = (n: number, size = 40_000) => new Uint8Array(size).fill(1 + (n % 251));
const uniform = (content: Uint8Array) => content.every((byte) => byte === content[0]);

async function etagOf(response: Response | Promise<Response>): Promise<string> {
  return (await response).headers.get("etag") ?? "none";
}

for (const sync of [true, false]) {
  eachStore(
    `two who write one file all the time show every reader whole versions, each under its own tag (sync_uploads ${sync})`,
    async (store) => {
      await using node = await testNode({ ...store, top: `sync_uploads = ${sync}\n` });
      const { dav } = await webdavSite(node);
      const content = new Map<string, number>();
      const odd: string[] = [];
      const told = (etag: string, byte: number) => {
        if ((content.get(etag) ?? byte) !== byte) odd.push(`${etag}: ${content.get(etag)} and ${byte}`);
        content.set(etag, byte);
      };
      told(await etagOf(dav("PUT", "/file", {}, version(0))), 1);
      let writing = true;
      const writer = async (first: number) => {
        for (let n = 0; n < roundsOf(60); n += 1) {
          const bytes = version(first + n * 2);
          const response = await dav("PUT", "/file", {}, bytes);
          if (response.status !== 204) odd.push(`PUT ${response.status}`);
          told(await etagOf(response), bytes[0] ?? 0);
        }
      };
      let reads = 0;
      const reader = async (read: () => Promise<Response>) => {
        while (writing) {
          const response = await read();
          const bytes = await response.bytes();
          // Told at the end, so that everybody has left before the story does.
          if (response.status !== 200 || bytes.length !== 40_000 || !uniform(bytes))
            odd.push(`${response.status} with ${bytes.length} bytes`);
          else told(await etagOf(response), bytes[0] ?? 0);
          reads += 1;
        }
      };
      const headers = { "accept-encoding": "identity" };
      const readers = [
        reader(() => dav("GET", "/file", headers)),
        reader(() => fetch(`${node.url}/node/static/site/file`, { headers })),
      ];
      await Promise.all([writer(1), writer(2)]);
      writing = false;
      await Promise.all(readers);
      expect(reads).toBeGreaterThan(20);
      expect(odd).toEqual([]);
      const last = await dav("GET", "/file", headers);
      expect(content.get(await etagOf(last))).toBe((await last.bytes())[0] ?? -1);
      expect(storedFiles(node).uploads()).toEqual([]);
    },
  );
}

eachStore("a file that is replaced all the time is there for everybody all the time", async (store) => {
  await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
  const { dav } = await webdavSite(node);
  await dav("PUT", "/file", {}, "x");
  const found = new Map<string, number>();
  let writing = true;
  const asks = [
    () => dav("HEAD", "/file"),
    () => dav("PROPFIND", "/file", { depth: "0" }),
    () => fetch(`${node.url}/node/static/site/file`),
  ];
  const readers = [...asks, ...asks].map(async (ask) => {
    while (writing) {
      const response = await ask();
      await response.bytes();
      found.set(String(response.status), (found.get(String(response.status)) ?? 0) + 1);
    }
  });
  await Promise.all(
    times(3, async () => {
      for (let n = 0; n < roundsOf(80); n += 1) await (await dav("PUT", "/file", {}, "x")).bytes();
    }),
  );
  writing = false;
  await Promise.all(readers);
  expect([...found.keys()].sort()).toEqual(["200", "207"]);
});

eachStore("of many who write over the same version, one wins and the others are told", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  let etag = await etagOf(dav("PUT", "/file", {}, "first"));
  for (let round = 0; round < roundsOf(5); round += 1) {
    const answers = await Promise.all(
      times(20, (n) => dav("PUT", "/file", { "if-match": etag }, `round ${round} by ${n}`)),
    );
    const winners = answers.flatMap(({ status }, n) => (status === 204 ? [n] : []));
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    const now = await dav("GET", "/file");
    expect(await now.text()).toBe(`round ${round} by ${winners[0]}`);
    etag = await etagOf(now);
    expect(etag).toBe(await etagOf(answers[winners[0] ?? 0] ?? now));
  }
});

eachStore("of many who make the same file, one makes it", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  for (let round = 0; round < roundsOf(5); round += 1) {
    const answers = await Promise.all(
      times(20, (n) => dav("PUT", `/file${round}`, { "if-none-match": "*" }, `by ${n}`)),
    );
    const makers = answers.flatMap(({ status }, n) => (status === 201 ? [n] : []));
    expect(makers).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    expect(await (await dav("GET", `/file${round}`)).text()).toBe(`by ${makers[0]}`);
  }
});

eachStore(
  "of many who make the same folder, one makes it, and the others hear that it is there",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(times(10, () => dav("MKCOL", `/folder${round}`)));
      const codes = answers.map(({ status }) => status).sort();
      expect(codes).toEqual([201, ...times(9, () => 405)]);
    }
  },
);

eachStore("of many who want the same lock, one gets it, there or not there before", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await dav("PUT", "/present", {}, "x");
  for (const path of ["/present", "/missing"]) {
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(times(15, () => dav("LOCK", path, {}, lockInfo)));
      const given = answers.filter(({ status }) => status === 200 || status === 201);
      expect(given).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 423)).toHaveLength(14);
      const token = given[0]?.headers.get("lock-token") ?? "";
      const put = await dav("PUT", path, { if: `(${token})` }, `round ${round}`);
      expect(put.status).toBe(204);
      expect((await dav("UNLOCK", path, { "lock-token": token })).status).toBe(204);
    }
  }
});

eachStore(
  "of those who lock a folder and those who lock what is in it, only one side gets in",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("MKCOL", "/f");
    await dav("PUT", "/f/member", {}, "x");
    for (let round = 0; round < roundsOf(5); round += 1) {
      const answers = await Promise.all(
        times(8, (n) => dav("LOCK", n % 2 === 0 ? "/f/" : "/f/member", { depth: "infinity" }, lockInfo)),
      );
      const given = answers.flatMap((response, n) => (response.status === 200 ? [{ response, n }] : []));
      expect(given).toHaveLength(1);
      for (const { response, n } of given) {
        const headers = { "lock-token": response.headers.get("lock-token") ?? "" };
        expect((await dav("UNLOCK", n % 2 === 0 ? "/f/" : "/f/member", headers)).status).toBe(204);
      }
    }
  },
);

eachStore("an upload under a lock and one without never both count", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await dav("PUT", "/file", {}, "start");
  for (let round = 0; round < roundsOf(5); round += 1) {
    const owner = async () => {
      const token = (await dav("LOCK", "/file", {}, lockInfo)).headers.get("lock-token") ?? "";
      const read = await (await dav("GET", "/file")).text();
      expect((await dav("PUT", "/file", { if: `(${token})` }, `${read}+`)).status).toBe(204);
      const kept = await (await dav("GET", "/file")).text();
      expect((await dav("UNLOCK", "/file", { "lock-token": token })).status).toBe(204);
      return { read, kept };
    };
    const rude = times(8, () => dav("PUT", "/file", {}, `rude ${round}`));
    const [{ read, kept }, ...answers] = await Promise.all([owner(), ...rude]);
    expect(kept).toBe(`${read}+`);
    for (const { status } of answers) expect([204, 423]).toContain(status);
  }
});

eachStore(
  "moves, copies, deletes and uploads in one folder leave whole files and clear answers",
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const url = hrefsIn(node);
    const { dav } = await webdavSite(node);
    const names = ["/d", "/d/a", "/d/b", "/d/e", "/d/e/c", "/f", "/f/a"];
    let seed = 42;
    const dice = (sides: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * sides);
    };
    const pick = () => names[dice(names.length)] ?? "/d";
    const answers = new Map<string, number>();
    const odd: string[] = [];
    const step = async (n: number) => {
      const method = ["PUT", "PUT", "MKCOL", "MOVE", "COPY", "DELETE", "GET", "PROPFIND"][dice(8)] ?? "GET";
      const [path, to] = [pick(), pick()];
      const headers: Record<string, string> =
        method === "MOVE" || method === "COPY" ? { destination: url(to) } : { depth: "infinity" };
      const response = await dav(method, path, headers, method === "PUT" ? version(n, 5000) : undefined);
      const body = await response.bytes();
      answers.set(`${method} ${response.status}`, (answers.get(`${method} ${response.status}`) ?? 0) + 1);
      if (response.status >= 500 || [400, 401, 423].includes(response.status))
        odd.push(`${method} ${path} ${to} ${response.status} ${Buffer.from(body)}`);
      const isFile = response.headers.get("content-type") === "application/octet-stream";
      if (method === "GET" && response.status === 200 && isFile && (body.length !== 5000 || !uniform(body)))
        odd.push(`GET ${path}: ${body.length} bytes`);
    };
    const needed = ["PUT 201", "PUT 204", "MOVE 201", "MOVE 204", "COPY 201", "DELETE 204", "GET 200"];
    const missing = () => needed.filter((answer) => !answers.has(answer));
    // Some answers are rare, and which come first is a matter of chance.
    for (let round = 0; round < roundsOf(30) || (round < 1000 && missing().length > 0); round += 1)
      await Promise.all(times(12, (n) => step(round * 12 + n)));
    expect([odd, missing()]).toEqual([[], []]);
    for (const [path, content] of await storedFiles(node).below(""))
      if (content !== undefined) expect([path, content.length, uniform(content)]).toEqual([path, 5000, true]);
    expect(storedFiles(node).uploads()).toEqual([]);
  },
);

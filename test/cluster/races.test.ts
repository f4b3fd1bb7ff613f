import { expect, test } from "bun:test";
import { basic, type Cluster, type ClusterNode, superToken } from "../support/cluster/cluster.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { hrefsOf } from "../support/webdav.ts";

/** `CLUSTER_ROUNDS=1000` is the long form. */
const rounds = Number(process.env.CLUSTER_ROUNDS) || 25;
const timeoutMs = 120_000 + rounds * 1000;
const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
const at = (path: string) => `/node/static-webdav/site/${path}`;

async function dav(
  node: ClusterNode,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
) {
  const response = await fetch(node.url + at(path), {
    method,
    headers: { authorization: basic(superToken), ...headers },
    keepalive: false,
    ...(body !== undefined && { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The same for every node at once, in an order that changes. */
function onEach<T>(
  { nodes }: Cluster,
  round: number,
  work: (node: ClusterNode, at: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(nodes.map((_, at) => work(nodes[(at + round) % nodes.length] as ClusterNode, at)));
}

const statusesOf = (answers: ReadonlyArray<{ status: number }>) => answers.map(({ status }) => status).sort();

/** Reads a file from every node, strictly. */
const readAll = async (cluster: Cluster, path: string) =>
  onEach(cluster, 0, async (node) => {
    const { status, text } = await dav(node, "GET", path);
    return status === 200 ? text : status;
  });

async function race(title: string, run: (cluster: Cluster, folder: string, round: number) => Promise<void>) {
  test(
    title,
    async () => {
      const cluster = await sharedCluster();
      const folder = crypto.randomUUID();
      expect((await dav(cluster.node(0), "MKCOL", folder)).status).toBe(201);
      for (let round = 0; round < rounds; round += 1) await run(cluster, folder, round);
    },
    timeoutMs,
  );
}

race(
  "of three uploads that create a file, each on another node, one succeeds",
  async (cluster, folder, round) => {
    const path = `${folder}/${round}`;
    const answers = await onEach(cluster, round, (node, at) =>
      dav(node, "PUT", path, { "if-none-match": "*" }, `from ${at}`),
    );
    expect(statusesOf(answers)).toEqual([201, 412, 412]);
    const text = `from ${answers.findIndex(({ status }) => status === 201)}`;
    expect(await readAll(cluster, path)).toEqual([text, text, text]);
  },
);

race(
  "of three uploads that replace the same version, each on another node, one succeeds",
  async (cluster, folder, round) => {
    const path = `${folder}/file`;
    const made = await dav(cluster.node(round), "PUT", path, {}, `version ${round}`);
    const match = { "if-match": made.headers.get("etag") ?? "" };
    const answers = await onEach(cluster, round, (node, at) =>
      dav(node, "PUT", path, match, `${round} from ${at}`),
    );
    expect(statusesOf(answers)).toEqual([204, 412, 412]);
    const text = `${round} from ${answers.findIndex(({ status }) => status === 204)}`;
    expect(await readAll(cluster, path)).toEqual([text, text, text]);
  },
);

race(
  "of three locks, each on another node, one is granted, and holds on all",
  async (cluster, folder, round) => {
    const path = `${folder}/file`;
    if (round === 0) await dav(cluster.node(0), "PUT", path, {}, "locked");
    const answers = await onEach(cluster, round, (node) =>
      dav(node, "LOCK", path, { timeout: "Second-600" }, lockInfo),
    );
    expect(statusesOf(answers)).toEqual([200, 423, 423]);
    const token = answers.find(({ status }) => status === 200)?.headers.get("lock-token") ?? "";
    const intruders = await onEach(cluster, round, (node) => dav(node, "PUT", path, {}, "intruder"));
    expect(statusesOf(intruders)).toEqual([423, 423, 423]);
    expect((await dav(cluster.node(round), "PUT", path, { if: `(${token})` }, "holder")).status).toBe(204);
    expect((await dav(cluster.node(round + 1), "UNLOCK", path, { "lock-token": token })).status).toBe(204);
  },
);

race(
  "a folder that several nodes move is moved by one, and seen at one place",
  async (cluster, folder, round) => {
    if (round === 0) {
      await dav(cluster.node(0), "MKCOL", `${folder}/0`);
      for (const name of ["a", "b"]) await dav(cluster.node(0), "PUT", `${folder}/0/${name}`, {}, name);
      // Later rounds find it where the winner has put it.
      place = "0";
    }
    const look = async (node: ClusterNode) => {
      const { text } = await dav(node, "PROPFIND", `${folder}/`, { depth: "infinity" });
      return hrefsOf(text).flatMap((href) => /([^/]+)\/([ab])$/.exec(href ?? "")?.slice(1) ?? []);
    };
    const moves = onEach(cluster, round, (node, at) =>
      dav(node, "MOVE", `${folder}/${place}`, {
        destination: `/node/static-webdav/site/${folder}/${round}-${at}`,
      }),
    );
    const looks = [...(await onEach(cluster, 0, look)), ...(await onEach(cluster, 1, look))];
    for (const [first, a, second, b, ...more] of looks)
      expect([a, b, more, first === second]).toEqual(["a", "b", [], true]);
    const answers = await moves;
    expect(statusesOf(answers)).toEqual([201, 404, 404]);
    place = `${round}-${answers.findIndex(({ status }) => status === 201)}`;
    for (const found of await onEach(cluster, 0, look)) expect(found).toEqual([place, "a", place, "b"]);
  },
);
let place = "";

race(
  "of a removal and an upload at the same time, the later one is what all nodes see",
  async (cluster, folder, round) => {
    const path = `${folder}/file`;
    await dav(cluster.node(round), "PUT", path, {}, "before");
    const [removal, upload] = await Promise.all([
      dav(cluster.node(round + 1), "DELETE", path),
      dav(cluster.node(round + 2), "PUT", path, {}, `after ${round}`),
    ]);
    expect(removal.status).toBe(204);
    // An upload that replaced nothing came after the removal.
    expect([201, 204]).toContain(upload.status);
    const left = upload.status === 201 ? `after ${round}` : 404;
    expect(await readAll(cluster, path)).toEqual([left, left, left]);
  },
);

race(
  "of a removal and an upload that both want the same version, one succeeds",
  async (cluster, folder, round) => {
    const path = `${folder}/file`;
    const made = await dav(cluster.node(round), "PUT", path, {}, `before ${round}`);
    const match = { "if-match": made.headers.get("etag") ?? "" };
    const [removal, upload] = await Promise.all([
      dav(cluster.node(round + 1), "DELETE", path, match),
      dav(cluster.node(round + 2), "PUT", path, match, `after ${round}`),
    ]);
    expect([removal.status, upload.status].filter((status) => status === 204)).toHaveLength(1);
    const left = upload.status === 204 ? `after ${round}` : 404;
    expect(await readAll(cluster, path)).toEqual([left, left, left]);
  },
);

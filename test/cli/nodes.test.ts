import { expect } from "bun:test";
import { loggedIn } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";

story("nodes lists who uses the database, and says what is wrong between them", async () => {
  await using scene = await loggedIn({ database: "postgres", top: 'node_name = "one"\n' });
  const { node, user } = scene;
  const alone = await user.run(["status"]);
  expect(alone.stdout).not.toMatch(/^(nodes|warning)/m);
  // On plain files of its own, and long before the next heartbeat of the first.
  await using two = await testNode({
    databaseUrl: node.databaseUrl,
    top: 'node_name = "two"\nws_listener = "0.0.0.0:0"\n',
  });
  const listed = await user.run(["nodes"]);
  expect(listed.code).toBe(0);
  const [first, second] = listed.stdout.split("\n").map((line) => line.split("\t"));
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(first).toEqual([
    "*",
    "one",
    "ready",
    expect.any(String),
    time,
    "1",
    node.url,
    (await node.call("node-server_uuid")) as string,
  ]);
  expect(second?.slice(0, 3)).toEqual(["", "two", "ready"]);
  expect(second?.slice(6)).toEqual(["-", (await two.call("node-server_uuid")) as string]);
  expect(listed.stderr).toContain(
    "warning: nodes with different file stores: one, two; give all the same [files] url",
  );
  const json = JSON.parse(await user.does(["nodes", "--json"]));
  expect(json).toMatchObject({
    nodes: [
      { name: "one", alive: true },
      { name: "two", url: null },
    ],
    warnings: [{ event: "nodes.files_not_shared" }],
  });

  two.node.startDraining();
  await two.node.close();
  await node.sql(`INSERT INTO kv (namespace, key, value) VALUES ('nodes', '11111111-1111-4111-8111-111111111111/x',
    jsonb_build_object('boot', '0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10', 'name', 'three', 'url', null, 'version', '1.0.0',
    'since', 1, 'at', cast(extract(epoch from now()) * 1000 as bigint) - 200000, 'ready', true, 'files', 'disk', 'beat', '1'))`);
  expect((await user.run(["nodes"])).stdout).toMatch(/^\tthree\tlost for 3 min \d+ s\t1\.0\.0\t/m);
  const status = await user.run(["status"]);
  expect(status.stdout).toMatch(/^nodes +1 ready, 1 lost$/m);
  expect(JSON.parse(await user.does(["status", "--json"]))).toMatchObject({ nodes: 1, warnings: [] });

  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  const refused = await user.run(["nodes"], { env: { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token } });
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("Node::ReadNodes")]);
});

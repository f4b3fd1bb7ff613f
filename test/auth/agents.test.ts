import { expect } from "bun:test";
import { eachDatabase, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const a = "0a000000-0000-4000-8000-00000000000a";
const b = "0b000000-0000-4000-8000-00000000000b";
const c = "0c000000-0000-4000-8000-00000000000c";
const gone = "00000000-0000-4000-8000-000000000000";

const listings = [{ node: "list_all_agent_uuid" }, { monitoring_uuid: "list" }];

async function withoutAgents(node: TestNode): Promise<void> {
  await node.sql("DELETE FROM monitoring_uuid");
}

/** Lets the server know three agents and one that was deleted, and no others. */
async function withAgents(node: TestNode): Promise<void> {
  await withoutAgents(node);
  const rows = [c, a, b].map((uuid) => `('${uuid}', false)`).join(", ");
  await node.sql(`INSERT INTO monitoring_uuid (uuid, soft_delete) VALUES ${rows}, ('${gone}', true)`);
}

/** What a token sees, which both methods must agree on. */
async function seenBy(node: TestNode, token: string): Promise<unknown> {
  const uuids = await node.call("agent-uuid_list_all", { token });
  expect(await node.call("node-server_list_all_agent_uuid", [token])).toEqual({ uuids });
  return uuids;
}

eachDatabase("the Super Token sees every agent, sorted, and none that was deleted", async (database) => {
  await using node = await sharedNode({ database });
  await withoutAgents(node);
  expect(await seenBy(node, node.superToken)).toEqual([]);
  await withAgents(node);
  expect(await seenBy(node, node.superToken)).toEqual([a, b, c]);
  expect(await seenBy(node, `root|${node.rootPassword}`)).toEqual([a, b, c]);
  await node.sql(`UPDATE monitoring_uuid SET soft_delete = true WHERE uuid = '${b}'`);
  expect(await seenBy(node, node.superToken)).toEqual([a, c]);
});

eachDatabase("either List permission in global scope shows every agent", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  for (const permission of listings) {
    for (const scope of ["global", { global: null }])
      expect(
        await seenBy(node, await node.newToken([{ scopes: [scope], permissions: [permission] }])),
      ).toEqual([a, b, c]);
  }
});

eachDatabase("a List permission alone on one agent does not show it", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  for (const permissions of [...listings.map((listing) => [listing]), listings])
    expect(await seenBy(node, await node.newToken([{ scopes: [{ agent_uuid: a }], permissions }]))).toEqual(
      [],
    );
});

eachDatabase("a List permission and another one on an agent show that agent", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  for (const listing of listings) {
    for (const other of [
      { monitoring_uuid: "delete" },
      { task: "run" },
      { task: { run: "x*" } },
      { node: "exec_sql" },
    ]) {
      const token = await node.newToken([
        { scopes: [{ agent_uuid: a }, { agent_uuid: c }], permissions: [listing, other] },
      ]);
      expect(await seenBy(node, token)).toEqual([a, c]);
    }
  }
});

eachDatabase(
  "the two permissions may stand in different limits, each on the agent or wider",
  async (database) => {
    await using node = await sharedNode({ database });
    await withAgents(node);
    const token = await node.newToken([
      { scopes: [{ agent_uuid: a }, { agent_uuid: b }], permissions: [{ monitoring_uuid: "list" }] },
      { scopes: [{ agent_uuid: b }, { agent_uuid: c }], permissions: [{ task: "run" }] },
    ]);
    expect(await seenBy(node, token)).toEqual([b]);
    const wider = await node.newToken([
      { scopes: [{ agent_uuid: a }], permissions: [{ monitoring_uuid: "list" }] },
      { scopes: ["global"], permissions: [{ task: "run" }] },
    ]);
    expect(await seenBy(node, wider)).toEqual([a]);
  },
);

eachDatabase("another permission without a List permission is refused", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  const token = await node.newToken([
    { scopes: [{ agent_uuid: a }, "global"], permissions: [{ task: "run" }, { monitoring_uuid: "delete" }] },
  ]);
  for (const method of ["agent-uuid_list_all", "node-server_list_all_agent_uuid"])
    expect(await node.refused(method, { token })).toMatchObject({
      code: 102,
      message: expect.stringContaining("MonitoringUuid::List"),
    });
});

eachDatabase("List in a scope that is no agent's shows nothing", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  const permissions = [...listings, { task: "run" }];
  for (const scope of [
    { static_bucket: "*" },
    { db: "*" },
    { agent_uuid: "*" },
    { agent_uuid: a.slice(0, -1) },
  ])
    expect(await seenBy(node, await node.newToken([{ scopes: [scope], permissions }]))).toEqual([]);
});

eachDatabase("a deleted agent stays hidden from a token that names it", async (database) => {
  await using node = await sharedNode({ database });
  await withAgents(node);
  const token = await node.newToken([
    { scopes: [{ agent_uuid: gone }], permissions: [...listings, { task: "run" }] },
  ]);
  expect(await seenBy(node, token)).toEqual([]);
});

eachDatabase("upper and lower case are the same agent, in the scope and in the row", async (database) => {
  await using node = await sharedNode({ database });
  await withoutAgents(node);
  const shouted = "0A100000-0000-4000-8000-0000000000AA";
  await node.sql(`INSERT INTO monitoring_uuid (uuid) VALUES ('${shouted}'), ('${a}')`);
  const permissions = [...listings, { task: "run" }];
  const lower = (uuids: unknown) => (uuids as string[]).map((uuid) => uuid.toLowerCase());
  for (const write of [(text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()]) {
    const token = await node.newToken([
      { scopes: [{ agent_uuid: write(a) }, { agent_uuid: write(shouted) }], permissions },
    ]);
    expect(lower(await seenBy(node, token))).toEqual([a, shouted.toLowerCase()]);
  }
});

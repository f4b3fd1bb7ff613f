import { expect } from "bun:test";
import { applied, hello, helloAt, newHome, type Server, story } from "../support/process.ts";
import { within } from "../support/until.ts";

async function readiness({ url }: Server): Promise<unknown> {
  const response = await fetch(`${url}/node/ready`, { keepalive: false });
  return [response.status, await response.json()];
}

const draining = [
  503,
  {
    status: "unavailable",
    missing: ["draining"],
    verdict: "attention",
    reasons: [{ code: "draining", level: "attention" }],
  },
];

story("a server that is told to stop serves on for drain_seconds while it is not ready", async () => {
  await using home = await newHome({ top: "drain_seconds = 3600\n" });
  const server = await home.serve();
  expect(await readiness(server)).toEqual([200, { status: "ready" }]);
  server.signal("SIGTERM");
  await server.says(/INFO server: stopping on SIGTERM, serving for another 3600 s\n/);
  expect(await readiness(server)).toEqual(draining);
  expect(await helloAt(server.url)).toBe(hello);
  const { nodes } = (await server.call("cluster_nodes", [server.superToken])) as { nodes: unknown[] };
  expect(nodes).toMatchObject([{ ready: false }]);
  // A second signal ends the draining, not the server's orderly end.
  server.signal("SIGTERM");
  expect(await within("the server ends", server.exited)).toMatchObject({ code: 0, signal: null });
});

story("drain_seconds is changed by a reload, and ends by itself", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await home.configure({ top: "drain_seconds = 1\n" });
  expect(await server.reload()).toMatchObject(applied("node"));
  server.signal("SIGTERM");
  // Not by readiness: the second may be over before it is asked.
  await server.says(/INFO server: stopping on SIGTERM, serving for another 1 s\n/);
  expect(await within("the server ends", server.exited)).toMatchObject({ code: 0, signal: null });
});

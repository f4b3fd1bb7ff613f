import { expect, test } from "bun:test";
import { type ClusterNode, type NamedServer, nodeTarget } from "../../src/cli/nodes/cluster-nodes.ts";
import { Unreachable } from "../../src/client/index.ts";

const uuid = "65d0b837-40a7-49e0-89e1-bba14a18b59f";

const nodeAt = (url: string | null, answers = false): ClusterNode => ({
  uuid,
  boot: "0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10",
  name: "node",
  url,
  version: "1.0.0",
  since: 1,
  last_seen: 2,
  alive: true,
  ready: true,
  files: "disk",
  processes: 1,
  answers,
});

const serverAt = (url: string): NamedServer => ({
  url,
  token: "key:secret",
  isSaved: true,
  hasLogin: true,
  ca: undefined,
  fetch,
});

const target = (server: string, node: ClusterNode, { allowHttp = false, isOnly = false } = {}) =>
  nodeTarget(node, serverAt(server), { allowHttp, isOnly });

/** How the named server is reached, the address of a node, and whether the token may go there: `http` if only with --allow-http. */
const cases: ReadonlyArray<readonly [server: string, node: string, allowed: boolean | "http"]> = [
  ["https://balancer.example", "https://10.0.0.2:2211", true],
  ["https://balancer.example", "http://10.0.0.2:2211", "http"],
  ["https://balancer.example", "http://node2.example:2211", "http"],
  ["http://balancer.example", "http://10.0.0.2:2211", true],
  ["http://127.0.0.1:2211", "http://10.0.0.2:2211", "http"],
  ["unix:/run/node.sock", "http://10.0.0.2:2211", "http"],
  ["unix:/run/node.sock", "https://10.0.0.2:2211", true],
  ["http://127.0.0.1:2211", "http://127.0.0.1:2212", true],
  ["unix:/run/node.sock", "http://localhost:2212", true],
  // An address of the machine of the caller, which is not that of the node.
  ...[
    "http://127.0.0.1:2211",
    "https://127.0.0.1:2211",
    "http://localhost:2211",
    "http://localhost.:2211",
    "http://a.localhost:2211",
    "http://127.1:2211",
    "http://0.0.0.0:2211",
    "http://[::1]:2211",
    "http://[::]:2211",
    "http://[::ffff:127.0.0.1]:2211",
    "http://2130706433:2211",
  ].flatMap((url) => [
    ["https://balancer.example", url, false] as const,
    ["http://balancer.example", url, false] as const,
  ]),
  ["https://balancer.example", "https://someone:secret@node2.example", false],
  ["https://balancer.example", "ftp://node2.example", false],
  ["https://balancer.example", "http+unix://%2Ftmp%2Fevil.sock", false],
  ["https://balancer.example", "unix:/tmp/evil.sock", false],
  ["https://balancer.example", "no address", false],
];

test("a token goes to no node by a worse way than to the server that its user named", () => {
  for (const [server, url, allowed] of cases) {
    const isAllowed = (options = {}) => !("problem" in target(server, nodeAt(url), options));
    expect({ server, url, allowed: isAllowed() }).toEqual({ server, url, allowed: allowed === true });
    expect({ server, url, allowed: isAllowed({ allowHttp: true }) }).toEqual({
      server,
      url,
      allowed: allowed !== false,
    });
  }
});

test("a node without an address is reached where it is the only one, or answered through its Unix socket", () => {
  expect(target("https://one.example", nodeAt(null, true))).toMatchObject({
    problem: expect.stringContaining("set node_url"),
  });
  expect(target("https://one.example", nodeAt(null, true), { isOnly: true })).toMatchObject({
    url: "https://one.example",
  });
  expect(target("unix:/run/node.sock", nodeAt("https://one.example", true))).toMatchObject({
    url: "unix:/run/node.sock",
  });
  expect(target("unix:/run/node.sock", nodeAt(null))).toMatchObject({ problem: expect.any(String) });
});

/** A server that answers every call with this result, or redirects it; `bodies` is what it was sent. */
function listen(answer: (url: URL) => Response | string) {
  const bodies: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const text = await request.text();
      bodies.push(text);
      const result = answer(new URL(request.url));
      if (result instanceof Response) return result;
      return Response.json({ jsonrpc: "2.0", id: (JSON.parse(text) as { id: number }).id, result });
    },
  });
  return {
    bodies,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

test("a server with another UUID is not sent the token, nor is the target of a redirect", async () => {
  using other = listen(() => "a7b1c0de-0000-4000-8000-000000000000");
  const reached = target("http://127.0.0.1:1", nodeAt(other.url));
  if ("problem" in reached) throw new Error(reached.problem);
  const error = await reached
    .newClient()
    .call("log_list", {})
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Unreachable);
  expect(String(error)).toContain("a7b1c0de-0000-4000-8000-000000000000");
  expect(other.bodies.join()).not.toContain("secret");

  using elsewhere = listen(() => "[]");
  let isFirst = true;
  using redirecting = listen(() => {
    if (!isFirst) return Response.redirect(`${elsewhere.url}/jsonrpc`, 307);
    isFirst = false;
    return uuid;
  });
  const second = target("http://127.0.0.1:1", nodeAt(redirecting.url));
  if ("problem" in second) throw new Error(second.problem);
  await expect(second.newClient().call("log_list", {})).rejects.toBeInstanceOf(Unreachable);
  expect(redirecting.bodies.join()).toContain("secret");
  expect(elsewhere.bodies).toEqual([]);
});

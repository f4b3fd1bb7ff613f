import { expect, test } from "bun:test";
import { eachDatabase, testNode } from "../support/node.ts";

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;
const metricsPermission = [{ scopes: ["global"], permissions: [{ node: "metrics" }] }];

eachDatabase(
  "metrics are for tokens that hold the permission, by Bearer and by Basic, and for the Super Token",
  async (database) => {
    await using node = await testNode({ database });
    const ask = (authorization?: string, more: Record<string, string> = {}) =>
      fetch(`${node.url}/node/metrics`, { headers: { ...(authorization && { authorization }), ...more } });
    const token = await node.newToken(metricsPermission, {
      username: "prometheus",
      password: "a good password",
    });
    for (const authorization of [
      `Bearer ${token}`,
      basic(token),
      basic("prometheus:a good password"),
      `Bearer ${node.superToken}`,
      basic(`root:${node.rootPassword}`),
    ]) {
      const response = await ask(authorization);
      expect([response.status, response.headers.get("content-type")]).toEqual([
        200,
        "text/plain; version=0.0.4; charset=utf-8",
      ]);
      expect(await response.text()).toContain("\nnode_server_build_info{");
    }

    const challenges =
      'Bearer realm="Node Server Metrics", Basic realm="Node Server Metrics", charset="UTF-8"';
    for (const wrong of [
      undefined,
      "Bearer x",
      basic("prometheus:wrong password"),
      `Bearer ${token}x`,
      "Digest a",
    ]) {
      const refused = await ask(wrong);
      expect([wrong, refused.status, refused.headers.get("www-authenticate")]).toEqual([
        wrong,
        401,
        challenges,
      ]);
      expect(await refused.text()).not.toContain("node_server_");
    }
    // A browser would keep a password that it asked for.
    const browser = await ask(undefined, { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" });
    expect(browser.headers.get("www-authenticate")).toBe('Bearer realm="Node Server Metrics"');

    for (const [scope, permission] of [
      ["global", { node: "exec_sql" }],
      [{ static_bucket: "site" }, { node: "metrics" }],
    ]) {
      const other = await node.newToken([{ scopes: [scope], permissions: [permission] }]);
      const refused = await ask(`Bearer ${other}`);
      expect([refused.status, await refused.text()]).toEqual([
        403,
        '403 Permission Denied: Node::Metrics required in scope global; give the token {"node": "metrics"}.\n',
      ]);
      expect(await node.refused("node-server_metrics", { token: other })).toMatchObject({
        code: 102,
        data: { reason: "missing_permission" },
      });
    }
    const { metrics, history } = (await node.call("node-server_metrics", { token })) as {
      metrics: Array<{ name: string }>;
      history: unknown[];
    };
    expect(metrics.map(({ name }) => name)).toContain("node_server_build_info");
    expect(history).toHaveLength(2);

    const head = await fetch(`${node.url}/node/metrics`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${token}` },
    });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(`${node.url}/node/metrics`, { method: "POST" })).headers.get("allow")).toBe(
      "GET, HEAD",
    );
  },
);

test("no metric contains a secret, a path or an address", async () => {
  await using node = await testNode();
  const response = await fetch(`${node.url}/node/metrics`, {
    headers: { authorization: `Bearer ${node.superToken}` },
  });
  const text = await response.text();
  const [key = "", secret = ""] = node.superToken.split(":");
  for (const hidden of [key, secret, node.rootPassword, node.folder, "127.0.0.1"])
    expect(text).not.toContain(hidden);
});

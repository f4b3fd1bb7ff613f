import { expect, test } from "bun:test";
import { build } from "../../src/build.ts";
import { isLater } from "../../src/update/release.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";

interface Latest {
  readonly current: string;
  readonly latest: string | null;
  readonly newer: boolean;
  readonly checked_at: number | null;
  readonly problem: string | null;
}

test("the newest release is asked for once an hour, whoever wants to know", async () => {
  let asked = 0;
  await using releases = closing(
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => {
        asked += 1;
        return new URL(url).pathname === "/releases/latest"
          ? new Response("v99.0.1\n")
          : new Response("", { status: 404 });
      },
    }),
  );
  const clock = new ManualClock();
  await using node = await testNode({ top: `release_url = "${releases.url}releases/"`, clock });
  const ask = (token = node.superToken) =>
    node.call("node-server_latest_release", { token }) as Promise<Latest>;
  const [first] = await Promise.all([ask(), ask(), ask()]);
  expect(first).toEqual({
    current: build.cargo_version,
    latest: "v99.0.1",
    newer: true,
    checked_at: expect.any(Number) as number,
    problem: null,
  });
  const limited = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  await clock.jump(3_599_999);
  expect(await ask(limited)).toEqual(first as Latest);
  expect(asked).toBe(1);
  await clock.jump(1);
  await ask(limited);
  expect(asked).toBe(2);
  const other = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_storage" }] }]);
  await expect(ask(other)).rejects.toThrow(/Metrics/);
});

test("a release server that is away, or names no version, is a problem and no error", async () => {
  await using wrong = closing(
    Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("<html>not a version") }),
  );
  const unused = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const away = String(unused.url);
  await unused.stop(true);
  for (const [url, problem] of [
    [String(wrong.url), /names no version/],
    [away, /not downloaded/],
  ] as const) {
    await using node = await testNode({ top: `release_url = "${url}"` });
    const latest = (await node.call("node-server_latest_release", { token: node.superToken })) as Latest;
    expect(latest).toMatchObject({ latest: null, newer: false, checked_at: expect.any(Number) as number });
    expect(latest.problem).toMatch(problem);
  }
});

test("versions are compared by their numbers", () => {
  expect(isLater("1.10.0", "1.9.9")).toBe(true);
  expect(isLater("1.9.9", "1.10.0")).toBe(false);
  expect(isLater("1.2.3", "1.2.3")).toBe(false);
  expect(isLater("2.0.0", "1.9.9-dev")).toBe(true);
});

function closing(server: Bun.Server<undefined>): AsyncDisposable & { readonly url: URL } {
  return { url: server.url, [Symbol.asyncDispose]: () => server.stop(true) };
}

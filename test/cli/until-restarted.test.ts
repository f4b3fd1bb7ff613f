import { expect, test } from "bun:test";
import { build } from "../../src/build.ts";
import { UpdateWatch } from "../../src/cli/nodes/node-update.ts";
import { NodeServerClient } from "../../src/client/index.ts";
import { parseTag } from "../../src/update/release.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

/** Waits until the server at `url` is ready as 9.9.9. */
function isUpdated(url: string, { answer = fetch, maxWaitMs = 60_000 } = {}): Promise<void> {
  const { signal } = new AbortController();
  const target = { fetch: answer, newClient: () => new NodeServerClient(url) };
  const options = { tag: parseTag("v9.9.9"), watchMs: 0, signal, groupUuid: undefined, maxWaitMs };
  return new UpdateWatch(target, options).untilProven();
}

test("who waits for an update waits as long as the server drains, and no longer", async () => {
  await using node = await testNode();
  const wait = (answer?: typeof fetch) => isUpdated(node.url, { ...(answer && { answer }), maxWaitMs: 500 });
  await expect(wait()).rejects.toThrow(`it still runs ${build.cargo_version}`);
  node.node.startDraining();
  let isRestarted = false;
  let asked = 0;
  // The server drains, and then another one with the new version is in its place.
  const answer = async (...given: Parameters<typeof fetch>): Promise<Response> => {
    asked += 1;
    if (isRestarted) return Response.json({ version: "9.9.9", uptime_ms: 1 });
    return fetch(...given);
  };
  let isOver = false;
  const waiting = wait(answer as typeof fetch).finally(() => {
    isOver = true;
  });
  await until("it was asked again and again", () => asked > 8);
  expect(isOver).toBe(false);
  isRestarted = true;
  await waiting;
});

test("who waits for an update hears at once that the old version runs again", async () => {
  // Its time stands still: it has started since the update was installed.
  await using node = await testNode({ clock: new ManualClock() });
  await expect(isUpdated(node.url)).rejects.toThrow(
    `the update was rolled back: it runs ${build.cargo_version} again`,
  );
});

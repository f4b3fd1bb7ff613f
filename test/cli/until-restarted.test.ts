import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { build } from "../../src/build.ts";
import { untilRestarted } from "../../src/cli/server/running.ts";
import { method } from "../../src/methods/declare.ts";
import { parseTag } from "../../src/update/release.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

test("who waits for an update waits as long as the server drains, and no longer", async () => {
  let version = build.cargo_version;
  let asked = 0;
  const methods = {
    "node-server_version": method({
      doc: "Tells a version.",
      need: anyone,
      effect: "reads",
      params: {},
      result: z.record(z.string(), z.string()),
      run: () => {
        asked += 1;
        return { ...build, cargo_version: version };
      },
    }),
  };
  await using node = await testNode({ methods });
  const wait = () => untilRestarted(node.url, parseTag("v9.9.9"), { access: { fetch }, timeoutMs: 500 });
  await expect(wait()).rejects.toThrow("the server did not come back as v9.9.9");
  node.node.startDraining();
  let isOver = false;
  const waiting = wait().finally(() => {
    isOver = true;
  });
  const before = asked;
  await until("it was asked again and again", () => asked > before + 3);
  expect(isOver).toBe(false);
  version = "9.9.9";
  await waiting;
});

test("who waits for an update hears at once that the old version runs again", async () => {
  // Its time stands still: it has started since the update was installed.
  await using node = await testNode({ clock: new ManualClock() });
  const waiting = untilRestarted(node.url, parseTag("v9.9.9"), { access: { fetch } });
  await expect(waiting).rejects.toThrow(
    `v9.9.9 did not start, and the server runs ${build.cargo_version} again`,
  );
});

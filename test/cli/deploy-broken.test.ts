import { expect } from "bun:test";
import type { Socket } from "node:net";
import type { ConnectionFilter } from "../support/connection-filter.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { openRelay } from "../support/relay.ts";
import { distinctBytes, sha256Of } from "../support/resumable.ts";
import { deploySite, eachStoreStory, fill } from "./deploy-site.ts";

const size = 40_000_000;

eachStoreStory(
  "a deploy goes on with a large file after its connection broke, and sends only what is missing",
  async (store) => {
    await using site = await deploySite(store);
    const { local, node, stored } = site;
    const bytes = distinctBytes(size, 21);
    await fill(local, { "index.html": "<h1>Film</h1>", "film.bin": bytes });
    let sent = 0;
    let cuts = 0;
    const filter = (_: Socket): ConnectionFilter => ({
      pass(of, piece) {
        if (of === "answer") return piece;
        sent += piece.length;
        // In the middle of the second part, and of what follows it.
        if (sent < ([25_000_000, 35_000_000][cuts] ?? Number.POSITIVE_INFINITY)) return piece;
        cuts += 1;
        return undefined;
      },
    });
    await using relay = await openRelay(Number(new URL(node.url).port), { filter });
    // Turned, so that nobody waits for the pause before another attempt.
    const clock = new ManualClock();
    const { home, env } = site;
    const deploying = home.launch(["deploy", local, "site", "--json"], {
      clock,
      env: { ...env, NODE_SERVER_URL: relay.url },
    });
    const { code, stdout } = await clock.settle(deploying.exited, 100);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ uploaded: 2, failed: [] });
    expect(cuts).toBe(2);
    // Of a part that broke off, at most what was on its way is sent twice.
    expect(sent).toBeLessThan(size + 2 * 8_000_000);
    const film = await fetch(`${node.url}/node/static/site/film.bin`);
    expect(sha256Of(await film.bytes())).toBe(sha256Of(bytes));
    expect(stored.uploads()).toEqual([]);
  },
);

import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { story } from "../support/process.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";
import { contents, deploySite, fill, openGate, type Pushed } from "./deploy-site.ts";

const further = leftToAll(story);

const pages = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n % 7}/page ${n}.html`, `page ${n}`]));

story("a push goes on after the connection broke, and sends nothing twice that had arrived", async () => {
  await using site = await deploySite();
  const { local, bucket, node, home, env } = site;
  const clock = new ManualClock();
  await fill(local, pages(300));
  let puts = 0;
  const broken = Promise.withResolvers<void>();
  await using gate = await openGate(node.url, (what) => {
    if (!what.startsWith("PUT ")) return;
    puts += 1;
    if (puts === 100)
      broken.resolve(gate.breakWhile(() => pushing.says(/the connection broke; trying again/)));
  });
  const pushing = home.launch(["push", local, "site", "--json"], {
    clock,
    env: { ...env, NODE_SERVER_URL: gate.url },
  });
  await broken.promise;
  const { code, stdout } = await clock.settle(pushing.exited, 1000);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ uploaded: 300, failed: [] });
  expect(contents(bucket)).toEqual(contents(local));
  const arrived = gate.done.filter((what) => what.startsWith("PUT "));
  expect(new Set(arrived).size).toBe(300);
  // Only those that were on their way when it broke, sixteen at most, may have come twice.
  expect(arrived.length).toBeLessThanOrEqual(316);
});

further(
  "Ctrl+C ends a push with 130; what is up is whole, and the next push sends only the rest",
  async () => {
    await using site = await deploySite();
    const { local, bucket, node } = site;
    const files = pages(120);
    await fill(local, files);
    const held = Promise.withResolvers<void>();
    let puts = 0;
    await using gate = await openGate(node.url, async (what) => {
      if (what.startsWith("PUT ") && ++puts > 60) await held.promise;
    });
    const pushing = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site");
    const passedOn = () => gate.done.filter((what) => what.startsWith("PUT ")).length;
    await until("some are held up", () => puts >= 70 && passedOn() >= 60);
    const { code } = await pushing.stop("SIGINT");
    expect(code).toBe(130);
    const up = contents(bucket);
    const arrived = Object.entries(up).filter(([path]) => !path.endsWith("/"));
    expect(arrived.length).toBeGreaterThanOrEqual(60);
    for (const [path, content] of arrived) expect(content).toBe(files[path] ?? "nothing");
    expect(readdirSync(join(node.folder, "static", "~staging"), { recursive: true }).length).toBe(1);
    held.resolve();
    // What the gate has read whole it passes on, though the client is gone.
    await until("those on their way are over", () => passedOn() === puts);
    const there = Object.keys(contents(bucket)).filter((path) => !path.endsWith("/")).length;
    gate.done.length = 0;
    const { exited } = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site", "--json");
    const again = await exited;
    const summary = JSON.parse(again.stdout) as Pushed;
    expect(summary).toMatchObject({ uploaded: 120 - there, unchanged: there });
    // Only what was on its way at the end is in doubt; the rest is on record.
    expect(summary.compared).toBeLessThanOrEqual(16);
    expect(passedOn()).toBe(120 - there);
    expect(contents(bucket)).toEqual(contents(local));
  },
);

story("a second Ctrl+C does not wait for a server that does not answer", async () => {
  await using site = await deploySite();
  const { local, node } = site;
  await fill(local, { "index.html": "page" });
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const asked: string[] = [];
  await using gate = await openGate(node.url, async (what) => {
    if (what.startsWith("PUT ")) reached.resolve();
    else if (asked.push(what) < 3) return;
    await held.promise;
  });
  const pushing = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site");
  await reached.promise;
  const before = asked.length;
  pushing.signal("SIGINT");
  // It says that it has ended, and waits for the answer.
  await until("the lease is given back", () => asked.length > before);
  expect(pushing.alive).toBe(true);
  expect(await pushing.stop("SIGINT")).toMatchObject({ code: 130, stderr: "" });
  held.resolve();
});

further("a push whose server stays away ends with 4, and a later one goes on from there", async () => {
  const clock = new ManualClock();
  await using site = await deploySite({ clock });
  const { local, bucket, node, home, env } = site;
  await fill(local, pages(60));
  let puts = 0;
  const gate = await openGate(node.url, async (what) => {
    if (what.startsWith("PUT ") && ++puts === 30) await gate[Symbol.asyncDispose]();
  });
  const away = { clock, env: { ...env, NODE_SERVER_URL: gate.url } };
  const pushing = home.launch(["push", local, "site"], away);
  expect(await clock.settle(pushing.exited, 1000)).toMatchObject({ code: 4 });
  const there = Object.keys(contents(bucket)).filter((path) => !path.endsWith("/")).length;
  expect(there).toBeGreaterThanOrEqual(14);
  // It could not say that it has ended; what it holds ends by itself.
  await clock.advance(60_000);
  await using _back = await openGate(node.url, () => {}, Number(new URL(gate.url).port));
  const again = await home.does(["push", local, "site", "--json"], away);
  expect(JSON.parse(again)).toMatchObject({ uploaded: 60 - there, unchanged: there });
  expect(contents(bucket)).toEqual(contents(local));
});

story("what changes in a watched folder while the server is away arrives when it is back", async () => {
  await using site = await deploySite();
  const { local, bucket, node, home, env } = site;
  const clock = new ManualClock();
  await fill(local, { "index.html": "one" });
  await using gate = await openGate(node.url);
  const watching = home.launch(["push", local, "site", "--watch"], {
    clock,
    env: { ...env, NODE_SERVER_URL: gate.url },
  });
  await watching.says(/watching/);
  await gate.breakWhile(async () => {
    await fill(local, { "index.html": "two" });
    const failed = () => /cannot be reached.*; trying again/.test(watching.stderr);
    await clock.until("a push has failed", 100, failed);
  });
  await clock.until("the change is there", 100, () => contents(bucket)["index.html"] === "two");
  expect((await watching.stop("SIGTERM")).code).toBe(143);
});

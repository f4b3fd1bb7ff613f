import { expect } from "bun:test";
import { openNode } from "../../src/node.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { Consumer, eachRuntime } from "./consumer.ts";
import { follow, keeping, linesOf, log_filter, login, relayed, show, task } from "./followed-log.ts";

/** A broken connection is told again with each attempt; how many there are depends on the machine. */
const withoutRepeats = (lines: readonly string[]) => lines.filter((line, at) => line !== lines[at - 1]);

eachRuntime(
  "memory and live stream are one: each entry once, in order, several at a time",
  async (runtime) => {
    await using node = await keeping("memory_log_capacity = 1000000");
    const log = task(node);
    let next = 0;
    for (; next < 300; next += 1) log.info(`n ${next}`);
    await using consumer = await Consumer.open();
    const writing = setInterval(() => {
      for (let count = 0; count < 5; count += 1, next += 1) log.info(`n ${next}`);
    }, 1);
    try {
      const script = await consumer.start(
        runtime,
        `const seen = [];
      let most = 0;
      for await (const event of server.followLog({ log_filter: ${JSON.stringify(log_filter)} })) {
        if (event.kind !== "entries") { console.log(event.kind); continue; }
        if (seen.length > 0) most = Math.max(most, event.entries.length);
        for (const { message } of event.entries) seen.push(message);
        // What comes while the loop is busy is there together.
        if (most < 2) await new Promise((done) => setTimeout(done, 100));
        if (seen.length < 2000 || most < 2) continue;
        console.log(seen.every((message, at) => message === "n " + at));
        break;
      }`,
        login(node),
      );
      expect(await script.lines()).toEqual(["connected", "true"]);
    } finally {
      clearInterval(writing);
    }
  },
);

eachRuntime(
  "entries that are alike, to the millisecond, are told as often as they were logged",
  async (runtime) => {
    const clock = new ManualClock();
    await using node = await keeping("", { clock });
    await using relay = await relayed(node);
    await using consumer = await Consumer.open();
    const log = task(node);
    const same = (times: number, moment: number) => {
      clock.set(moment);
      for (let count = 0; count < times; count += 1) log.info("same");
    };
    const now = clock.now();
    same(3, now);
    const script = await consumer.start(runtime, follow, { ...login(node), url: relay.url });
    await script.says(/connected\n(- same\n){3}/);
    same(4, now + 1);
    await script.says(/(- same\n){7}/);
    relay.cut();
    await script.says(/broken/);
    // As if no time had passed since the last ones.
    same(5, now + 1);
    await relay.mend();
    await script.says(/again\n(- same\n){5}/);
    log.info("last");
    await script.says(/- last/);
    expect(linesOf(script).filter((line) => line === "- same")).toHaveLength(12);
    expect(script.stdout).not.toContain("gap");
  },
);

eachRuntime("what was logged during a break comes after it, once, and there is no gap", async (runtime) => {
  await using node = await keeping();
  await using relay = await relayed(node);
  await using consumer = await Consumer.open();
  const log = task(node);
  log.info("kept");
  const script = await consumer.start(runtime, follow, { ...login(node), url: relay.url });
  await script.says(/- kept/);
  log.info("live");
  await script.says(/- live/);
  relay.cut();
  await script.says(/broken/);
  log.info("meanwhile");
  await relay.mend();
  await script.says(/- meanwhile/);
  log.info("live again");
  await script.says(/- live again/);
  expect(withoutRepeats(linesOf(script))).toEqual([
    ...["connected", "- kept", "- live", "broken true true"],
    ...["again", "- meanwhile", "- live again"],
  ]);
});

eachRuntime("a break that the memory cannot bridge is told as a gap", async (runtime) => {
  await using node = await keeping("memory_log_capacity = 3");
  await using relay = await relayed(node);
  await using consumer = await Consumer.open();
  const log = task(node);
  const script = await consumer.start(runtime, follow, { ...login(node), url: relay.url });
  await script.says(/connected/);
  relay.cut();
  await script.says(/broken/);
  await relay.mend();
  // Nothing was told yet, and nothing is kept: who knows.
  await script.says(/gap false false\nagain/);
  log.info("live");
  await script.says(/- live/);
  relay.cut();
  await script.says(/again\n- live\nbroken/);
  for (let n = 1; n <= 10; n += 1) log.info(`n ${n}`);
  await relay.mend();
  await script.says(/gap true true\nagain\n- n 8\n- n 9\n- n 10\n/);
});

eachRuntime("a memory that lacks what the stream brings bridges nothing", async (runtime) => {
  await using node = await testNode({ logging: 'memory_log_filter = "off,task=warn"' });
  await using relay = await relayed(node);
  await using consumer = await Consumer.open();
  const log = task(node);
  const script = await consumer.start(runtime, follow, { ...login(node), url: relay.url });
  await script.says(/connected/);
  log.warn("in both");
  log.info("only live");
  await script.says(/- only live/);
  relay.cut();
  await script.says(/broken/);
  log.info("nowhere");
  log.warn("kept");
  await relay.mend();
  await script.says(/gap true true\nagain\n- kept\n/);
});

eachRuntime("a server that was started again is a gap as well", async (runtime) => {
  const port = await freePort();
  await using node = await testNode({
    top: `ws_listener = "127.0.0.1:${port}"\n`,
    logging: 'memory_log_filter = "off,task=info"',
  });
  await using consumer = await Consumer.open();
  task(node).info("before");
  const script = await consumer.start(runtime, follow, login(node));
  await script.says(/- before/);
  await node.node.close("restart");
  await script.says(/broken/);
  await using next = await openNode({
    configPath: node.configPath,
    workingDirectory: node.folder,
    env: { RUST_LOG: "off" },
    show: () => {},
  });
  next.hub.logger("task").info("after");
  await script.says(/gap true (true|false)\nagain\n- after\n/);
});

eachRuntime("a memory that cannot be read after a break is a break too", async (runtime) => {
  await using node = await keeping();
  await using relay = await relayed(node);
  await using consumer = await Consumer.open();
  const log = task(node);
  log.info("kept");
  const code = `${show}
  let calls = 0;
  const broken = (url, init) => ++calls === 2 ? Promise.reject(new TypeError("no route")) : fetch(url, init);
  const other = new client.NodeServerClient(server.url, { token: ${JSON.stringify(node.superToken)}, fetch: broken });
  for await (const event of other.followLog({ log_filter: ${JSON.stringify(log_filter)} })) {
    show(event);
    if (event.kind === "broken") console.log(event.why.message.includes("no route") ? "by POST" : "by WebSocket");
  }`;
  const script = await consumer.start(runtime, code, { ...login(node), url: relay.url });
  await script.says(/- kept/);
  relay.cut();
  await script.says(/by WebSocket/);
  log.info("meanwhile");
  await relay.mend();
  await script.says(/by POST\nagain\n- meanwhile\n/);
  expect(script.stdout).not.toContain("gap");
});

eachRuntime("a revoked token ends it with PermissionDenied and the server's words", async (runtime) => {
  await using node = await keeping();
  await using consumer = await Consumer.open();
  const script = await consumer.start(runtime, follow, login(node));
  await script.says(/connected/);
  await node.call("token_roll_token_secret", [node.superToken, "root"]);
  const words = "this log stream ends: its token was revoked or has expired";
  expect(await script.lines()).toEqual(["connected", `- ${words}`, `threw PermissionDenied ${words}`]);
});

eachRuntime("an entry with the words of an ending stream is an entry like any other", async (runtime) => {
  await using node = await testNode({ logging: 'memory_log_filter = "warn"' });
  await using consumer = await Consumer.open();
  const code = follow.replace(log_filter, "warn");
  const script = await consumer.start(runtime, code, login(node));
  await script.says(/connected/);
  const log = node.node.hub.logger("server");
  log.warn("this log stream ends: or so it is said");
  await script.says(/- this log stream ends: or so it is said\n/);
  log.warn("7 log events were dropped: or so it is said", { dropped: 7 });
  log.warn("it goes on");
  await script.says(/- it goes on/);
  expect(linesOf(script)).toEqual([
    "connected",
    "- this log stream ends: or so it is said",
    "- 7 log events were dropped: or so it is said",
    "- it goes on",
  ]);
});

import { expect, setSystemTime } from "bun:test";
import { openNode } from "../../src/node.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { until } from "../support/process.ts";
import { Consumer, eachRuntime, type Script } from "./consumer.ts";
import { openRelay } from "./relay.ts";

/** `show(event)` prints one line for each event, and for entries one line each. */
const show = `
const show = (event) => {
  if (event.kind === "entries") for (const { message } of event.entries) console.log("-", message);
  else if (event.kind === "connected") console.log(event.again ? "again" : "connected");
  else if (event.kind === "gap") console.log("gap", event.after !== undefined, event.before !== undefined);
  else if (event.kind === "broken") console.log("broken", event.why instanceof client.Unreachable, event.waitMs > 0);
  else console.log("missed", event.count, event.by);
};
`;
const log_filter = "off,task=info";
const follow = `${show}
try {
  for await (const event of server.followLog({ log_filter: ${JSON.stringify(log_filter)} })) show(event);
  console.log("ended");
} catch (error) {
  console.log("threw", error.name, error.message);
}
`;

/** A server whose memory keeps what tests log. */
const keeping = (more = "") => testNode({ logging: `memory_log_filter = "off,task=info"\n${more}` });
const task = (node: TestNode) => node.node.hub.logger("task");
const login = ({ url, superToken }: TestNode) => ({ url, token: superToken });
const relayed = (node: TestNode) => openRelay(Number(new URL(node.url).port));
const linesOf = (script: Script) => script.stdout.split("\n").filter((line) => line !== "");

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
    await using node = await keeping();
    await using relay = await relayed(node);
    await using consumer = await Consumer.open();
    const log = task(node);
    const same = (times: number, moment: number) => {
      setSystemTime(new Date(moment));
      for (let count = 0; count < times; count += 1) log.info("same");
      setSystemTime();
    };
    const now = Date.now();
    same(3, now);
    const script = await consumer.start(runtime, follow, { ...login(node), url: relay.url });
    await script.says(/connected\n(- same\n){3}/);
    same(4, now + 1);
    await script.says(/(- same\n){7}/);
    relay.cut();
    await script.says(/broken/);
    // As if no time had passed since the last ones.
    same(5, now + 1);
    relay.mend();
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
  relay.mend();
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
  relay.mend();
  // Nothing was told yet, and nothing is kept: who knows.
  await script.says(/gap false false\nagain/);
  log.info("live");
  await script.says(/- live/);
  relay.cut();
  await script.says(/again\n- live\nbroken/);
  for (let n = 1; n <= 10; n += 1) log.info(`n ${n}`);
  relay.mend();
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
  relay.mend();
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
  relay.mend();
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

eachRuntime(
  "what the server dropped for a slow reader is counted, and its notice is an entry",
  async (runtime) => {
    await using node = await keeping("memory_log_capacity = 0");
    await using consumer = await Consumer.open();
    const script = await consumer.start(runtime, follow, login(node));
    await script.says(/connected/);
    const log = task(node);
    // Nobody can read in the middle of this.
    for (let n = 0; n < 1000; n += 1) log.info(`n ${n}`);
    await script.says(/- n 100\n/);
    await until("there is room again", () => {
      log.info("more");
      return script.stdout.includes("- more") ? true : undefined;
    });
    const [, count = "", notice = "", next = ""] = await script.says(
      /\nmissed (\d+) server\n- (\d+) log events were dropped[^\n]*\n- (\w+)/,
    );
    expect([notice, next]).toEqual([count, "more"]);
    const told = linesOf(script).filter((line) => line.startsWith("- n "));
    expect(told.length + Number(count)).toBe(1000);
  },
);

eachRuntime("what a slow loop drops is counted as well", async (runtime) => {
  await using node = await keeping();
  await using consumer = await Consumer.open();
  const script = await consumer.start(
    runtime,
    `let told = 0;
    let missed = 0;
    const went = async () => (await server.call("node-server_log", { log_filter: "off,task" })).length >= 400;
    for await (const event of server.followLog({ log_filter: ${JSON.stringify(log_filter)}, buffer: 3 })) {
      if (event.kind === "connected") {
        console.log("connected");
        while (!(await went())) await new Promise((done) => setTimeout(done, 10));
        await new Promise((done) => setTimeout(done, 300));
      } else if (event.kind === "entries") told += event.entries.length;
      else if (event.by === "client") missed += event.count;
      if (told + missed === 400) break;
    }
    console.log(told > 0, missed > 0);`,
    login(node),
  );
  await script.says(/connected/);
  for (let n = 0; n < 400; n += 1) task(node).info(`n ${n}`);
  expect(await script.lines()).toEqual(["connected", "true true"]);
});

eachRuntime(
  "a signal or the end of the loop ends it; nonsense and strangers are refused at once",
  async (runtime) => {
    await using node = await keeping();
    task(node).info("kept");
    await using consumer = await Consumer.open();
    const lines = await consumer.run(
      runtime,
      `${show}
    const stop = new AbortController();
    for await (const event of server.followLog({ log_filter: "info", signal: stop.signal })) {
      show(event);
      if (event.kind === "entries") stop.abort();
    }
    console.log("stopped");
    for await (const event of server.followLog({ log_filter: "info" })) break;
    for await (const event of server.followLog({ log_filter: "info", signal: AbortSignal.abort() })) show(event);
    for (const [url, token, log_filter] of [
      [server.url, "no:body", "info"],
      [server.url, ${JSON.stringify(node.superToken)}, "info,=="],
      ["http://127.0.0.1:${await freePort()}", "a:b", "info"],
    ]) {
      try {
        for await (const event of new client.NodeServerClient(url, { token }).followLog({ log_filter })) show(event);
      } catch (error) {
        console.log(error.name, error.data?.column ?? "");
      }
    }`,
      login(node),
    );
    expect(lines).toEqual([
      ...["connected", "- kept", "stopped"],
      ...["PermissionDenied ", "InvalidInput 6", "Unreachable "],
    ]);
  },
);

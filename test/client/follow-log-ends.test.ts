import { expect } from "bun:test";
import { freePort } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { Consumer, eachRuntime } from "./consumer.ts";
import { follow, keeping, linesOf, log_filter, login, show, task } from "./followed-log.ts";

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

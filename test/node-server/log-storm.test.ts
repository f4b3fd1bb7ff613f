import { expect, test } from "bun:test";
import type { Level, LogEntry } from "../../src/log/entry.ts";
import { Filter } from "../../src/log/filter.ts";
import type { LogHub } from "../../src/log/hub.ts";
import { frame, openWireSocket } from "../support/hostile.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const total = 100_000;
/** The smallest first. */
const levels: readonly Level[] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
const targets = ["task", "kv", "terminal", "crontab", "js_worker"];

/** What the n-th event is: every target with every level, one after the other. */
const targetOf = (n: number) => targets[n % targets.length] ?? "";
const levelOf = (n: number): Level => levels[Math.floor(n / targets.length) % levels.length] ?? "INFO";

function emit(hub: LogHub, n: number): void {
  const logger = hub.logger(targetOf(n));
  const log = {
    TRACE: logger.trace,
    DEBUG: logger.debug,
    INFO: logger.info,
    WARN: logger.warn,
    ERROR: logger.error,
  } satisfies Record<Level, unknown>;
  log[levelOf(n)].call(logger, `event ${n}`, { n });
}

type Rule = Partial<Record<string, Level>>;

/** A filter as it is sent, and what it lets through as the specification has it. */
function filterOf(base: Level | "OFF", rules: Rule = {}) {
  const text = [base, ...Object.entries(rules).map(([target, level]) => `${target}=${level}`)].join(",");
  const passes = (n: number) => {
    const least = rules[targetOf(n)] ?? base;
    return least !== "OFF" && levels.indexOf(levelOf(n)) >= levels.indexOf(least);
  };
  return { text: text.toLowerCase(), passes };
}

/** Every event of the storm, and none of the server's own: it logs its statements as TRACE. */
const everything = filterOf("OFF", Object.fromEntries(targets.map((target) => [target, "TRACE"])));

const filters = [
  everything,
  filterOf("INFO"),
  filterOf("WARN"),
  filterOf("ERROR"),
  filterOf("ERROR", { task: "TRACE" }),
  filterOf("ERROR", { task: "DEBUG", kv: "WARN" }),
  filterOf("WARN", { crontab: "ERROR" }),
  ...targets.map((target) => filterOf("OFF", { [target]: "TRACE" })),
  ...targets.map((target) => filterOf("OFF", { [target]: "WARN" })),
  filterOf("OFF", { task: "ERROR", terminal: "INFO" }),
  filterOf("OFF", { js_worker: "ERROR" }),
  filterOf("OFF", { kv: "DEBUG", js_worker: "WARN" }),
];

/** Checks a stream against what it should hold, event by event, drops included. */
class Ledger {
  readonly #expected: number[];
  #at = 0;
  heard = 0;
  dropped = 0;
  /** How many goodbyes came. */
  ends = 0;
  wrong: string | undefined;

  constructor(passes: (n: number) => boolean) {
    this.#expected = Array.from({ length: total }, (_, n) => n).filter(passes);
  }

  take(text: string): void {
    this.heard += 1;
    for (const [, n, dropped, end] of text.matchAll(
      /"fields":\{"n":(\d+)\}|"subscription":"\w+","dropped":(\d+)\}|"fields":\{"end":(true)\}/g,
    )) {
      if (dropped !== undefined) {
        this.#at += Number(dropped);
        this.dropped += Number(dropped);
      } else if (end !== undefined) {
        this.ends += 1;
      } else {
        if (this.#expected[this.#at] !== Number(n))
          this.wrong ??= `event ${n} came in the place of ${this.#expected[this.#at]}`;
        this.#at += 1;
      }
    }
  }

  /** How many were heard or told as missed, less those that should have been. */
  get missing(): number {
    return this.#expected.length - this.#at;
  }
}

async function subscribe(node: TestNode, filter: string, ledger: Ledger): Promise<WebSocket> {
  const socket = new WebSocket(`${node.url.replace("http", "ws")}/jsonrpc`);
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  const answered = new Promise<string>((resolve) => {
    socket.onmessage = ({ data }) => resolve(String(data));
  });
  socket.send(request(node, filter));
  expect(await answered).toContain('"result":"');
  socket.onmessage = ({ data }) => ledger.take(String(data));
  return socket;
}

const request = (node: TestNode, log_filter: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: "node-server_stream_log",
    params: { token: node.superToken, log_filter },
    id: 1,
  });

/** One last event in every target. */
function sayGoodbye({ node: { hub } }: TestNode): void {
  for (const target of targets) hub.logger(target).error("the end", { end: true });
}

/** Counts the events of the server itself that come to the streams without a rule for their target: they can be in gaps too. */
function countOwn(hub: LogHub): { readonly count: number } {
  const own = { count: 0 };
  const write = ({ target }: LogEntry) => {
    if (!targets.includes(target)) own.count += 1;
  };
  hub.attach({ filter: Filter.parse("info"), write });
  return own;
}

/** Waits until nothing has come for a while, so that what comes next finds room everywhere. */
async function settled(count: () => number): Promise<void> {
  let before = -1;
  await until("the storm has passed", async () => {
    if (before === count()) return true;
    before = count();
    await Bun.sleep(300);
    return undefined;
  });
}

test("a storm of 100,000 events reaches 20 subscribers whole or with every gap told, beside one that stalls", async () => {
  expect(filters).toHaveLength(20);
  await using node = await testNode({ logging: "memory_log_capacity = 0" });
  const own = countOwn(node.node.hub);
  using stalled = await openWireSocket(node.url);
  stalled.write(frame(request(node, everything.text)));
  await stalled.hears(/"result":"/);
  stalled.stopReading();
  const ledgers = filters.map(({ passes }) => new Ledger(passes));
  const sockets = await Promise.all(
    filters.map(({ text }, at) => subscribe(node, text, ledgers[at] ?? new Ledger(() => false))),
  );
  for (let n = 0; n < total; n += 1) {
    emit(node.node.hub, n);
    // Mostly at a pace that can be kept; now and then a burst of 2,000 that overflows the widest filters.
    if (n % 100 === 99 && n % 20_000 < 18_000) await new Promise((resolve) => setImmediate(resolve));
  }
  await settled(() => ledgers.reduce((sum, { heard }) => sum + heard, 0));
  sayGoodbye(node);
  await until("every stream has come to its end", () => ledgers.every(({ ends }) => ends > 0) || undefined);
  for (const [at, { wrong, missing }] of ledgers.entries()) {
    const isWhole = missing <= 0 && missing >= -own.count;
    expect({ filter: filters[at]?.text, wrong, missing, isWhole }).toMatchObject({
      wrong: undefined,
      isWhole: true,
    });
  }
  // The widest was overrun by the bursts; the narrowest, with 80 events in a burst of 2,000, never was.
  expect(ledgers[0]?.dropped).toBeGreaterThan(0);
  expect(ledgers[18]?.dropped).toBe(0);

  stalled.readAgain();
  await settled(() => stalled.heard.length);
  sayGoodbye(node);
  const toLedger = () => {
    const ledger = new Ledger(() => true);
    ledger.take(stalled.heard);
    return ledger;
  };
  // Goodbyes that it missed, those after the storm and on a busy machine some of the last ones, are told as gaps too.
  await until("the slow one has heard or been told of everything", () => {
    const { ends, missing, wrong } = toLedger();
    return wrong !== undefined || missing === ends - 2 * targets.length || undefined;
  });
  const late = toLedger();
  expect(late.wrong).toBeUndefined();
  expect(late.dropped).toBeGreaterThan(total / 2);
  for (const socket of sockets) socket.close();
  // Twenty subscribers in this process read 100,000 events.
}, 60_000);

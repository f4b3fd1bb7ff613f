import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Line, median, type Pace, perSecond, printTable, ratio, spread } from "./figures.ts";
import { cpuSeconds, pins } from "./proc.ts";
import {
  type Bench,
  call,
  finish,
  firstAnswer,
  hello,
  helloAnswer,
  launch,
  ownTokenRequest,
  type Program,
  type Running,
} from "./servers.ts";

const connections = 32;
const callsInFlight = 4;
const httpTarget = 0.8;
/** Until the just-in-time compiler has seen enough. */
const warmUpSeconds = 1;

/** One load on one server: calls a second. */
type Load = (server: Running, seconds: number) => Promise<number>;

interface Contender {
  readonly name: string;
  readonly program: Program;
  readonly load: Load;
}

interface Score {
  readonly name: string;
  readonly rates: number[];
  /** Processor microseconds of the server a call, in each round. */
  readonly costs: number[];
}

/** `hello` beside a server that does nothing else, on the same core, turn by turn. */
export async function rpc(bench: Bench, pace: Pace): Promise<Line[]> {
  const pin = pins();
  const { ours, parsing, ignoring } = bench;
  const own = await ownToken(ours);
  const lines: Line[] = [];
  if (Bun.which("wrk") === null) {
    console.log("LEFT OUT: calls over HTTP, which need wrk (apt-get install wrk)");
  } else {
    const post = (body: string) => wrk(bench.folder, pin.load, body);
    const scores = await compete(pace, pin.server, [
      { name: "node-server", program: ours, load: await post(hello) },
      { name: "bare Bun, body parsed", program: parsing, load: await post(hello) },
      { name: "bare Bun, body ignored", program: ignoring, load: await post(hello) },
      { name: "node-server, token_get", program: ours, load: await post(own.request) },
    ]);
    lines.push(report(`hello over HTTP, ${connections} connections`, pace, scores, httpTarget));
  }
  const talk = (message: string, answer: string) => sockets(pin.load, message, answer);
  const scores = await compete(pace, pin.server, [
    { name: "node-server", program: ours, load: talk(hello, helloAnswer) },
    { name: "bare Bun, message parsed", program: parsing, load: talk(hello, helloAnswer) },
    { name: "bare Bun, message ignored", program: ignoring, load: talk(hello, helloAnswer) },
    { name: "node-server, token_get", program: ours, load: talk(own.request, own.answer) },
  ]);
  const title = `hello over WebSocket, ${connections} sockets with ${callsInFlight} calls each`;
  lines.push(report(title, pace, scores));
  return lines;
}

/** A token that asks for itself: what a call with credentials costs. */
async function ownToken(program: Program): Promise<{ request: string; answer: string }> {
  await using server = launch(program);
  await firstAnswer(server);
  const request = await ownTokenRequest(server);
  return { request, answer: await call(server.url, request) };
}

/**
 * Everybody's first round, then everybody's second: what slows the machine down for a while slows all. Each round has
 * a process of its own, because one and the same program is some 10 % faster in one process than in the next.
 */
async function compete(
  pace: Pace,
  pin: readonly string[],
  contenders: readonly Contender[],
): Promise<Score[]> {
  const scores = contenders.map(({ name }): Score => ({ name, rates: [], costs: [] }));
  for (let round = 0; round < pace.rounds; round += 1) {
    for (const [at, { program, load }] of contenders.entries()) {
      await using server = launch(program, pin);
      const answer = await firstAnswer(server);
      if (answer !== helloAnswer) throw new Error(`${program.name} answered ${answer}`);
      await load(server, warmUpSeconds);
      const before = cpuSeconds(server.pid);
      const rate = await load(server, pace.roundSeconds);
      scores[at]?.rates.push(rate);
      scores[at]?.costs.push(((cpuSeconds(server.pid) - before) * 1e6) / (rate * pace.roundSeconds));
    }
  }
  return scores;
}

function report(title: string, pace: Pace, scores: readonly Score[], least?: number): Line {
  const [ours, parsing] = scores;
  if (ours === undefined || parsing === undefined) throw new Error("nobody to compare with");
  const share = (score: Score) => median(score.rates) / median(parsing.rates);
  printTable(
    `${title}; ${pace.rounds} rounds of ${pace.roundSeconds} s`,
    ["", "calls", "ratio", "spread", "server µs/call"],
    scores.map((score) => [
      score.name,
      perSecond(median(score.rates)),
      ratio(share(score)),
      spread(score.rates),
      median(score.costs).toFixed(1),
    ]),
  );
  return {
    what: title,
    ours: perSecond(median(ours.rates)),
    bare: perSecond(median(parsing.rates)),
    ratio: ratio(share(ours)),
    ...(least === undefined
      ? {}
      : { target: { words: `ratio ${least} or more`, met: share(ours) >= least } }),
  };
}

/** Calls as fast as wrk can; the script's last line is for us. */
async function wrk(folder: string, pin: readonly string[], body: string): Promise<Load> {
  const script = join(folder, `${crypto.randomUUID()}.lua`);
  await writeFile(
    script,
    `wrk.method = "POST"
wrk.body = [==[${body}]==]
wrk.headers["content-type"] = "application/json"
done = function(summary)
  local e = summary.errors
  print(string.format('{"calls":%d,"micros":%d,"failed":%d}',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`,
  );
  return async ({ name, url }, seconds) => {
    const told = await finish([...pin, "wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url]);
    const last = told.trimEnd().slice(told.trimEnd().lastIndexOf("\n") + 1);
    const { calls, micros, failed } = JSON.parse(last) as Record<"calls" | "micros" | "failed", number>;
    if (failed > 0) throw new Error(`${failed} calls to ${name} failed`);
    return calls / (micros / 1e6);
  };
}

function sockets(pin: readonly string[], message: string, answer: string): Load {
  return async ({ url }, seconds) => {
    const counts = [connections, callsInFlight, seconds].map(String);
    const program = [process.execPath, "bench/socket-load.ts", new URL(url).port];
    const told = await finish([...pin, ...program, ...counts, message, answer]);
    return (JSON.parse(told) as { perSecond: number }).perSecond;
  };
}

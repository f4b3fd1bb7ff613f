import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { InnocentReport, InnocentSpec } from "./innocent-client.ts";
import { runWorker } from "./worker-script.ts";

const everyMs = 10;
/** Unit of `/proc/stat`, on every Linux that Bun runs on. */
const msPerTick = 10;
const body = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
const request = [
  "POST /jsonrpc HTTP/1.1",
  "Host: here",
  "Content-Type: application/json",
  `Content-Length: ${body.length}`,
  "",
  body,
].join("\r\n");

/** Times of a process's main thread so far, in milliseconds: on a processor, and ready but waiting for one. */
function mainThread(pid: number): { ran: number; waited: number } {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 };
  } catch {
    // The server has ended; its last call is never answered and shows as silence.
    return { ran: 0, waited: 0 };
  }
}

/**
 * Processor time that the host of a virtual machine has kept from it so far, in milliseconds. The kernel counts it as time on a
 * processor for the thread that was interrupted.
 */
function stolenMs(): number {
  const [, ticks] = /^cpu +(?:\d+ ){7}(\d+)/.exec(readFileSync("/proc/stat", "utf8")) ?? [];
  return Number(ticks ?? 0) * msPerTick;
}

/** The status of a whole answer at the start of `heard`; undefined while more is to come. */
function statusOf(heard: string): number | undefined {
  const head = heard.indexOf("\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(heard)?.[1];
  if (head === -1 || heard.length < head + 4 + Number(length ?? 0)) return undefined;
  return Number(heard.slice(9, 12));
}

/** One keep-alive connection; a new one is opened when the server ends it. */
class Caller {
  readonly #spec: InnocentSpec;
  #socket: Socket | undefined;
  #heard = "";
  #answered: ((status: number) => void) | undefined;

  constructor(spec: InnocentSpec) {
    this.#spec = spec;
  }

  /** Sends one call; the status of its answer, 0 when the connection ended without one. */
  call(): Promise<number> {
    return new Promise((resolve) => {
      this.#heard = "";
      this.#answered = resolve;
      this.#socket ??= this.#dial();
      this.#socket.write(request);
    });
  }

  #dial(): Socket {
    const { hostname, port } = new URL(this.#spec.url);
    const socket = connect({ host: hostname, port: Number(port), localAddress: this.#spec.from });
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      this.#heard += bytes.toString("latin1");
      const status = statusOf(this.#heard);
      if (status !== undefined) this.#answered?.(status);
    });
    // A lost connection is status 0; `close` follows every error.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#socket = undefined;
      this.#answered?.(0);
    });
    return socket;
  }
}

await runWorker<InnocentSpec, InnocentReport>(async (spec, stopped) => {
  const caller = new Caller(spec);
  const end = new Promise<undefined>((resolve) => {
    stopped.addEventListener("abort", () => resolve(undefined));
  });
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  let [silence, netSilence, loop, answers] = [0, 0, 0, 0];
  const look = () => ({
    now: performance.now(),
    server: mainThread(spec.pid),
    client: mainThread(process.pid),
    stolen: stolenMs(),
  });
  let last = look();
  const note = () => {
    const next = look();
    const stolen = next.stolen - last.stolen;
    const clientWaited = next.client.waited - last.client.waited + stolen;
    const serverWaited = Math.max(0, next.server.waited - last.server.waited);
    // The first answer also opened the connection and may have met a cold server.
    if (answers > 1 || stopped.aborted) {
      silence = Math.max(silence, next.now - last.now);
      netSilence = Math.max(netSilence, next.now - last.now - clientWaited - serverWaited);
      // While this client waits for a processor, the server may well work for others.
      loop = Math.max(loop, next.server.ran - last.server.ran - clientWaited);
    }
    last = next;
  };
  while (!stopped.aborted) {
    const sent = performance.now();
    const status = await Promise.race([caller.call(), end]);
    times.push(performance.now() - sent);
    if (status !== undefined) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status !== 0) {
        answers += 1;
        note();
        if (answers === 1) await Bun.write(Bun.stdout, "ready\n");
      }
    }
    await Promise.race([Bun.sleep(Math.max(0, sent + everyMs - performance.now())), end]);
  }
  note();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { answers, statuses, p50: at(0.5), p99: at(0.99), silence, netSilence, loop };
});

import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { faultKinds } from "../../src/base/fault.ts";
import {
  type Attack,
  attack,
  attackedBytes,
  attackedToken,
  openWireSocket,
  Wire,
} from "../support/hostile.ts";
import type { WireReply } from "../support/node.ts";
import { helloAt, newHome, type Server } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const seed = Number(process.env.HOSTILE_SEED ?? 20_010_911);
const attacks = 5000;
/** So many at a time. */
const lanes = 32;
const patienceMs = 60_000;
const MiB = 1024 * 1024;

const codes = new Set(Object.values(faultKinds).map(({ code }) => Number(code)));
codes.delete(faultKinds.Internal.code);
const statuses = new Set([200, 204, 400, 404, 405, 413, 415, 426, 429, 431]);

/** Nothing of the server's inside may be seen from outside. */
function refuseLeaks(text: string): void {
  const shown = text.replace(/"git_commit_message":"(?:[^"\\]|\\.)*"/g, "");
  const leak = /(\n|\\n) *at |node_modules|\bsrc[/\\]|\.ts:\d|(Type|Range|Syntax|Reference)Error/.exec(shown);
  if (leak !== null) throw new Error(`the answer shows ${leak[0]}: ${shown.slice(0, 500)}`);
}

/** One message of the server: an answer to one call or a batch, or an event. */
function checkMessage(text: string): void {
  refuseLeaks(text);
  for (const one of [JSON.parse(text) as WireReply | WireReply[]].flat()) {
    if ("method" in one) continue;
    const { jsonrpc, error } = one;
    const proper =
      jsonrpc === "2.0" &&
      "id" in one &&
      "result" in one !== "error" in one &&
      (error === undefined || (codes.has(error.code) && typeof error.message === "string"));
    if (!proper) throw new Error(`not a proper answer: ${text.slice(0, 500)}`);
  }
}

/** A WebSocket that is there again when the server has closed it. */
class Socket {
  readonly #url: string;
  #socket: WebSocket | undefined;
  #failure: unknown;

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends the message and then a call; returns when the call is answered or the socket is gone. */
  async attack(message: string | Uint8Array<ArrayBuffer>): Promise<void> {
    const socket = await this.#open();
    const over = new Promise<void>((resolve) => {
      socket.addEventListener("close", () => resolve(), { once: true });
      socket.onmessage = ({ data }) => {
        try {
          if (String(data) === '{"jsonrpc":"2.0","result":"Node Server Is Running!","id":"after"}') resolve();
          else checkMessage(String(data));
        } catch (error) {
          this.#failure = error;
        }
      };
    });
    socket.send(message);
    socket.send('{"jsonrpc":"2.0","method":"node-server_hello","id":"after"}');
    await within("the socket answers or closes", over, patienceMs);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #open(): Promise<WebSocket> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket;
    const socket = new WebSocket(`${this.#url.replace("http", "ws")}/jsonrpc`);
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onclose = () => reject(new Error("a good handshake was refused"));
    });
    return socket;
  }

  close(): void {
    this.#socket?.close();
  }
}

async function overHttp(url: string, { verb, path, type, body }: Attack & { over: "http" }): Promise<void> {
  const response = await fetch(url + path, {
    method: verb,
    headers: { "content-type": type },
    body,
    signal: AbortSignal.timeout(patienceMs),
  });
  const text = await response.text();
  refuseLeaks(text);
  if (!statuses.has(response.status)) throw new Error(`status ${response.status}: ${text.slice(0, 500)}`);
  if (response.headers.get("content-type") === "application/json") checkMessage(text);
}

async function overTcp(url: string, { shaken, bytes, hangUp }: Attack & { over: "tcp" }): Promise<void> {
  using wire = shaken ? await openWireSocket(url) : await Wire.open(url);
  wire.write(bytes);
  if (hangUp === "at once") return;
  if (hangUp === "politely") wire.end();
  // Half a message may rightly wait for its other half, so there is nothing to wait for in the end.
  for (let turn = 0; turn < 6 && !wire.closed && wire.heard === ""; turn += 1) await Bun.sleep(5);
  refuseLeaks(wire.heard);
}

/** What the server holds on to, once everything that can go is gone. */
async function heldMemory(server: Server): Promise<number> {
  let rss = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const from = server.stdout.length;
    server.signal("SIGUSR2");
    rss = await until("the server tells its size", () => {
      const told = /rss (\d+)\n/.exec(server.stdout.slice(from))?.[1];
      return told === undefined ? undefined : Number(told);
    });
    await Bun.sleep(100);
  }
  return rss;
}

test("thousands of hostile requests never crash, hang or show the server's inside, and leave no memory behind", async () => {
  console.log(`hostile requests: seed ${seed} (HOSTILE_SEED sets another)`);
  await using home = await newHome({
    top: `max_request_body_size = ${attackedBytes}\njsonrpc_max_connections = 1000`,
  });
  const preload = home.file("tell-size.js");
  await writeFile(
    preload,
    'process.on("SIGUSR2", () => { Bun.gc(true); console.log("rss", process.memoryUsage.rss()); });\n',
  );
  const server = await home.serve({
    env: { NODE_SERVER_SUPER_TOKEN: attackedToken, RUST_LOG: "info", BUN_OPTIONS: `--preload=${preload}` },
  });
  const { url } = server;
  const all = fc.sample(attack, { seed, numRuns: attacks });
  let next = 0;

  async function lane(end: number): Promise<void> {
    const socket = new Socket(url);
    try {
      while (next < end) {
        const number = next;
        next += 1;
        const one = all[number];
        if (one === undefined) return;
        try {
          if (one.over === "http") await overHttp(url, one);
          else if (one.over === "tcp") await overTcp(url, one);
          else await socket.attack(one.message);
          if (number % 100 === 99) {
            const hello = await within("hello is answered", helloAt(url), patienceMs);
            if (hello !== "Node Server Is Running!") throw new Error("hello is not answered any more");
          }
        } catch (error) {
          const shown = fc.stringify(one);
          const told = server.stderr.split("\n").filter((line) => !line.includes("refused credentials"));
          throw new Error(
            `seed ${seed}, attack ${number}: ${shown.slice(0, 2000)} (of ${shown.length})\n${told.slice(-20).join("\n")}`,
            { cause: error },
          );
        }
      }
    } finally {
      socket.close();
    }
  }
  const rush = async (end: number) => {
    await Promise.all(Array.from({ length: lanes }, () => lane(end)));
  };

  await rush(attacks / 4);
  const warm = await heldMemory(server);
  await rush(attacks);
  const end = await heldMemory(server);
  expect(next).toBe(attacks);
  expect(server.alive).toBe(true);
  expect(server.stderr).not.toMatch(/ERROR|bug:/);
  expect(end).toBeLessThan(warm + 40 * MiB);
  // Thousands of requests, of which some are slow on purpose.
}, 180_000);

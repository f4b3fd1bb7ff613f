import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { frame, handshake, postHead } from "./hostile.ts";
import type { WireReply } from "./node.ts";
import type { Home } from "./process.ts";
import { WorkerProcess } from "./worker.ts";

/** AttackSpec describes what one attacking process does; every connection does the same. */
export interface AttackSpec {
  readonly url: string;
  /** The loopback address that the attack comes from. */
  readonly from: string;
  readonly connections: number;
  /** Files with the bytes to send; connection n sends the file n modulo their number. */
  readonly payloads: readonly string[];
  /** Sent before the payload, and answered before it goes on. */
  readonly handshake: string | undefined;
  /** How often a connection sends its payload; "endless" sends until the attack is stopped. */
  readonly times: number | "endless";
  /** Read what the server answers. Otherwise it stays in the operating system's buffers, which are soon full. */
  readonly reads: boolean;
  /** How to end the connection as soon as the payload has been handed over; "never" leaves that to the server. */
  readonly hangsUp: "close" | "reset" | "never";
  /** Whether each connection is kept until it has heard something, also if the attack is stopped: a busy machine answers late. */
  readonly awaitsAnswers: boolean;
  /** Begin again with a new connection where one has ended. */
  readonly returns: boolean;
}

export interface AttackReport {
  readonly opened: number;
  readonly heardBytes: number;
  /** First lines of answers by HTTP status; 0 counts connections that ended without one. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type Attacker = WorkerProcess<AttackReport>;

export interface AttackOptions extends Partial<Omit<AttackSpec, "url" | "payloads" | "handshake">> {
  /** What to send, or one text for each connection in turn. */
  readonly payload: string | Uint8Array | readonly string[];
  /** Open WebSockets; the payload is then whole frames, or a part of one. */
  readonly websocket?: boolean;
}

let files = 0;

/** Starts an attacking process against `url`; it ends by itself once all its connections have ended. */
export async function launchAttack(
  home: Home,
  url: string,
  { payload, websocket = false, ...options }: AttackOptions,
): Promise<Attacker> {
  const texts = typeof payload === "string" || payload instanceof Uint8Array ? [payload] : payload;
  const payloads: string[] = [];
  for (const text of texts) {
    files += 1;
    const path = home.file(`payload-${files}`);
    await writeFile(path, text);
    payloads.push(path);
  }
  const spec: AttackSpec = {
    url,
    payloads,
    from: "127.0.0.66",
    connections: 1,
    handshake: websocket ? handshake : undefined,
    times: 1,
    reads: true,
    hangsUp: "never",
    returns: false,
    // A handshake is always answered.
    awaitsAnswers: websocket,
    ...options,
  };
  return new WorkerProcess<AttackReport>("attacker-process.ts", spec).ready();
}

/**
 * How many connections the server turned away: with 503, or with a reset that was there before the attacker, who was still sending,
 * had read the 503.
 */
export function turnedAway({ statuses }: AttackReport): number {
  return (statuses[503] ?? 0) + (statuses[0] ?? 0);
}

/** A JSON-RPC call as text; `params` is JSON already. */
export function callText(method: string, params = "[]", id = "1"): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

/** A POST of JSON-RPC after whose answer the server closes the connection. */
export function postOf(body: string): string {
  const length = Buffer.byteLength(body);
  return `${postHead("Content-Type: application/json", "Connection: close", `Content-Length: ${length}`)}${body}`;
}

/** A request without a body, as bytes on the wire. */
export function requestOf(line: string, ...headers: string[]): string {
  return `${[`${line} HTTP/1.1`, "Host: here", "Connection: close", ...headers].join("\r\n")}\r\n\r\n`;
}

/** So many frames of the same call, for a WebSocket. */
export function framesOf(text: string, count: number): Uint8Array {
  const one = frame(text);
  return Buffer.concat(Array.from({ length: count }, () => one));
}

/** One JSON-RPC call from a chosen loopback address; its answer. */
export async function callFrom(from: string, url: string, call: string): Promise<WireReply> {
  const { hostname, port } = new URL(url);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from });
    let heard = "";
    socket.on("data", (bytes) => {
      heard += bytes.toString();
    });
    socket.on("error", reject).on("close", () => resolve(heard));
    socket.write(postOf(call));
  });
  return JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as WireReply;
}

import { readFileSync } from "node:fs";
import { formatAddress } from "../../base/address.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import { eventOf, type LogEntry } from "../../client/index.ts";
import type { Config } from "../../config/schema.ts";
import type { Tag } from "../../update/release.ts";
import { askSecret } from "../terminal/ask.ts";
import { openProgress } from "./progress.ts";

/** The server that a configuration describes, found running. */
export interface Running {
  readonly url: string;
  readonly version: string;
  readonly tls: { readonly ca: string; readonly checkServerIdentity: () => undefined } | undefined;
}

/** How long a server may take to come back as another version. */
const comebackMs = 60_000;
const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export async function findRunning({ ws_listener, tls_cert }: Config): Promise<Running | undefined> {
  const host = everywhere[ws_listener.host] ?? ws_listener.host;
  const url = `${tls_cert === undefined ? "http" : "https"}://${formatAddress({ host, port: ws_listener.port })}/jsonrpc`;
  // Its own certificate is trusted, under whatever name it is reached here.
  const tls =
    tls_cert === undefined
      ? undefined
      : { ca: readFileSync(tls_cert, "utf8"), checkServerIdentity: () => undefined };
  try {
    return { url, version: await versionOf(url, tls), tls };
  } catch {
    return undefined;
  }
}

/** Asks a running server to update itself, shows how far it is, and waits until it is back. */
export async function updateRunning(
  running: Running,
  tag: Tag,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const token =
    env.NODE_SERVER_TOKEN ?? env.NODE_SERVER_SUPER_TOKEN ?? (await askSecret("Super Token (key:secret): "));
  await using socket = await openSocket(running);
  const shown = openProgress(`downloading ${tag.text}`);
  socket.onEntry = (entry) => {
    const event = eventOf(entry);
    if (event?.event === "update.downloading" && event.bytes !== undefined) shown(event.bytes, event.total);
  };
  await socket.call("node-server_stream_log", { token, log_filter: "server=info" });
  await socket.call("node-server_self_update", { token, tag: tag.text });
  process.stderr.write("in place; the server restarts\n");
  const deadline = Date.now() + comebackMs;
  while (Date.now() < deadline) {
    await Bun.sleep(250);
    const version = await versionOf(running.url, running.tls).catch(() => undefined);
    if (version === tag.version) return;
  }
  throw new Fault("Other", `the server has not come back as ${tag.text}; look into its log`);
}

async function versionOf(url: string, tls: Running["tls"]): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method: "node-server_version", id: 1 }),
    signal: AbortSignal.timeout(3000),
    ...(tls === undefined ? {} : { tls }),
  });
  const { result } = (await response.json()) as { result: { cargo_version: string } };
  return result.cargo_version;
}

async function openSocket({ url, tls }: Running) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const socket = new WebSocket(url.replace(/^http/, "ws"), tls === undefined ? {} : { tls });
  const opened = Promise.withResolvers<void>();
  const client = {
    onEntry: (_: Pick<LogEntry, "fields">) => {},
    call(method: string, params: object): Promise<unknown> {
      const id = waiting.size + 1;
      const answer = Promise.withResolvers<unknown>();
      waiting.set(id, answer);
      socket.send(JSON.stringify({ jsonrpc: "2.0", method, params, id }));
      return answer.promise;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
  socket.onopen = () => opened.resolve();
  socket.onclose = () => {
    const error = new Fault("IoError", "the server closed the connection");
    opened.reject(error);
    for (const answer of waiting.values()) answer.reject(error);
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data)) as {
      id?: number;
      result?: unknown;
      error?: { message: string };
      params?: { result?: Pick<LogEntry, "fields"> };
    };
    if (message.params !== undefined) {
      if (message.params.result !== undefined) client.onEntry(message.params.result);
      return;
    }
    const answer = waiting.get(message.id ?? 0);
    if (message.error === undefined) answer?.resolve(message.result);
    else answer?.reject(new Fault("Other", messageOf(new Error(message.error.message))));
  };
  await opened.promise;
  return client;
}

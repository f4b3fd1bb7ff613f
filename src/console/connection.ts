import { signal } from "@preact/signals";
import { NodeServerClient, TimedOut, Unreachable } from "../client/index.ts";

/** Address of the server, two folders above the console, so that it is right behind a proxy too. */
export const serverUrl = new URL("../..", location.href).href.replace(/\/$/, "");

/** Whether the page is being closed. */
let isLeaving = false;
addEventListener("pagehide", () => {
  isLeaving = true;
});
addEventListener("pageshow", () => {
  isLeaving = false;
});

/**
 * Sends a request in the name of the console, so that charts of requests can leave it out. What is sent while the page is closed
 * goes on without it.
 */
export function consoleFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("node-server-console", "yes");
  return fetch(url, { ...init, headers, keepalive: isLeaving });
}

/** Whether the server answers. One banner shows it for the whole console. */
export const connection = signal<"online" | "offline">("online");

/** Whether an action of the person failed while the server was unreachable and will not be retried. */
export const hasFailedAction = signal(false);

const firstWaitMs = 500;
const maxWaitMs = 5000;
/** A server that takes longer to answer `hello` counts as unreachable. */
const answerTimeoutMs = 5000;
/** Attempts for a request that fails although the server answers others. */
const maxTries = 3;

const client = new NodeServerClient(serverUrl, { timeoutMs: answerTimeoutMs, fetch: consoleFetch });
let waiting: Promise<boolean> | undefined;
let wake = () => {};

// Retry at once when the tab gets the focus or the network is back.
for (const type of ["online", "focus", "visibilitychange"]) addEventListener(type, () => wake());
addEventListener("offline", () => void whenReachable());

/** Call this when a request got no answer. Polls until the server answers; resolves to whether it had been unreachable. */
export function whenReachable(): Promise<boolean> {
  waiting ??= waitForServer().finally(() => {
    waiting = undefined;
  });
  return waiting;
}

/** Runs `work`, and again after the server was unreachable. Other errors are rethrown. */
export async function untilReachable<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unreachable) || error instanceof TimedOut) throw error;
      if (await whenReachable()) tries = 0;
      else if (tries >= maxTries) throw error;
      signal?.throwIfAborted();
    }
  }
}

/** Imports a chunk on demand, with a second attempt once the server answers. */
export async function importCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    // Browsers do not say whether the server was unreachable or has no such file; the second attempt tells.
    await whenReachable();
    return load();
  }
}

async function waitForServer(): Promise<boolean> {
  let wasOffline = false;
  for (let waitMs = firstWaitMs; !(await isAnswering()); waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    wasOffline = true;
    connection.value = "offline";
    await pause(waitMs);
  }
  connection.value = "online";
  hasFailedAction.value = false;
  return wasOffline;
}

async function isAnswering(): Promise<boolean> {
  try {
    await client.call("node-server_hello");
    return true;
  } catch (error) {
    // An error from the server is an answer too.
    return !(error instanceof Unreachable);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

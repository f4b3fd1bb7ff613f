import { signal } from "@preact/signals";
import { NodeServerClient, TimedOut, Unreachable } from "../client/index.ts";

/** The server stands two folders above the console, wherever a proxy may have put them. */
export const serverUrl = new URL("../..", location.href).href.replace(/\/$/, "");

/** Whether the server answers, for the whole console: one banner shows it. */
export const connection = signal<"online" | "away">("online");

/** Whether something that the person asked for failed while the server is away, and nothing repeats it. */
export const notDone = signal(false);

const firstWaitMs = 500;
const maxWaitMs = 5000;
/** An answer to the question below that takes longer comes from no healthy server. */
const answerMs = 5000;
/** How often a request is repeated that fails though the server answers others. */
const maxTries = 3;

const client = new NodeServerClient(serverUrl, { timeoutMs: answerMs });
let asking: Promise<boolean> | undefined;
let wake = () => {};

// Whoever comes back to the tab, or back into the network, does not wait for the next try.
for (const type of ["online", "focus", "visibilitychange"]) addEventListener(type, () => wake());
addEventListener("offline", () => void whenReachable());

/** Asks the server whether it is there until it answers. To be called when a request got no answer; resolves to whether it was away. */
export function whenReachable(): Promise<boolean> {
  asking ??= ask().finally(() => {
    asking = undefined;
  });
  return asking;
}

/** Does something that asks the server, again when a server that was away is back. Everything else that it throws is thrown. */
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

/** Imports code that is fetched when it is needed, again when a server that was away is back. */
export async function importCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    // Browsers do not say whether the server was away or has no such file; the next try does.
    await whenReachable();
    return load();
  }
}

async function ask(): Promise<boolean> {
  let wasAway = false;
  for (let waitMs = firstWaitMs; !(await answers()); waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    wasAway = true;
    connection.value = "away";
    await pause(waitMs);
  }
  connection.value = "online";
  notDone.value = false;
  return wasAway;
}

async function answers(): Promise<boolean> {
  try {
    await client.call("node-server_hello");
    return true;
  } catch (error) {
    // A refusal is an answer.
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

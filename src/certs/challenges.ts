import { lookup } from "node:dns/promises";
import { atMost, orAborted } from "../base/clock.ts";
import { codeOf, messageOf } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import type { CertificateRows } from "../db/rows/certificate-rows.ts";
import type { Answerer } from "./authority.ts";
import { OrderFailure } from "./failure.ts";

/** Answers are removed when they are no longer needed; after this time also those of a node that was killed. */
const answerMs = 600_000;
const reachMs = 10_000;
const hookMs = 120_000;
/** What a stop of the server leaves a hook to remove a record. */
const hookAfterStopMs = 2000;
/** What a hook has said arrives this long after its end. A process that it has left behind may keep the pipes open for ever. */
const lastWordsMs = 100;
/** More than any token. */
const maxAnswerBytes = 1024;
/** What a hook says is kept up to this length. */
const maxSaidChars = 300;

/** Finds where a name leads: returns the origin to ask. By default the name itself. */
export type Reach = (name: string) => Promise<string>;

/** `httpAnswerer` puts answers into the database, from where the `http_listener` of every node sends them. */
export function httpAnswerer(
  { challenges }: Pick<CertificateRows, "challenges">,
  { nowMs, reach = byName }: { readonly nowMs: () => number; readonly reach?: Reach | undefined },
): Answerer {
  const show = async (token: string, answer: string): Promise<AsyncDisposable> => {
    await challenges.put(token, { answer, until: nowMs() + answerMs });
    // An answer that stays expires, and says nothing about the order.
    return { [Symbol.asyncDispose]: async () => void (await challenges.delete(token).catch(() => {})) };
  };
  return {
    type: "http-01",
    show: (_, token, { answer, signal }) => orAborted(show(token, answer), signal),
    async check(name, signal) {
      // Such a name is an address for some programs: the server must not be led to one of its own network.
      if (/(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(name))
        throw new OrderFailure("name_refused", `${name} ends in a number, and no domain does`);
      const token = `self-${randomText(32)}`;
      await using _shown = await show(token, token);
      await assertLeadsHere(await originOf(name, reach), token, signal);
    },
  };
}

async function byName(name: string): Promise<string> {
  await lookup(name);
  return `http://${name}`;
}

async function originOf(name: string, reach: Reach): Promise<string> {
  try {
    return await reach(name);
  } catch (error) {
    throw new OrderFailure(
      "dns_missing",
      `${name} was not found in the DNS (${codeOf(error) ?? messageOf(error)})`,
    );
  }
}

/**
 * Asks for a token that only the nodes of this server know. Throws if another server answers. A name that cannot be reached from here may
 * be reached from outside: a router often does not lead back to its own public address.
 */
async function assertLeadsHere(origin: string, token: string, signal: AbortSignal): Promise<void> {
  const url = `${origin}/.well-known/acme-challenge/${token}`;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(reachMs)]);
  const asked = await fetch(url, { redirect: "manual", signal: bounded, keepalive: false }).catch(
    () => undefined,
  );
  signal.throwIfAborted();
  if (asked === undefined) return;
  const text = await beginningOf(asked).catch(() => "");
  signal.throwIfAborted();
  if (asked.status === 200 && text.trim() === token) return;
  // Nothing else of the answer is told: the address may be of a network that only the server reaches.
  throw new OrderFailure("dns_elsewhere", `${origin} does not answer as this server does`);
}

/** The text of an answer, of which any server may have sent any amount. */
async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxAnswerBytes) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * `hookAnswerer` lets a program of the operator's put TXT records into the DNS and take them away. Each run may take `boundMs`.
 */
export function hookAnswerer(program: string, { boundMs = hookMs } = {}): Answerer {
  const run = async (action: "add" | "remove", args: readonly string[], signal: AbortSignal) => {
    const refuse = (why: string, output = "") =>
      new OrderFailure("dns_hook_failed", `${program} ${why}`, 0, output);
    const late = AbortSignal.timeout(boundMs);
    let hook: Hook;
    try {
      hook = startHook([program, action, ...args]);
    } catch (error) {
      throw refuse(`cannot be run: ${messageOf(error)}`);
    }
    let isLate = false;
    const said = [heardFrom(hook.stderr), heardFrom(hook.stdout)];
    try {
      await orAborted(hook.exited, AbortSignal.any([signal, late]));
      await atMost(Promise.all(said.map(({ ended }) => ended)), { ms: lastWordsMs });
    } catch (error) {
      killGroup(hook.pid);
      if (signal.aborted) throw error;
      isLate = true;
    } finally {
      for (const { stop } of said) stop();
    }
    if (!isLate && hook.exitCode === 0) return;
    const how = isLate
      ? `took longer than ${boundMs / 1000} s`
      : (hook.signalCode ?? `exit code ${hook.exitCode}`);
    const output = said
      .map(({ text }) => text())
      .join("")
      .trim()
      .slice(0, maxSaidChars);
    throw refuse(`${action}: ${how}`, output);
  };
  return {
    type: "dns-01",
    async show(name, _token, { answer, signal }) {
      const args = [`_acme-challenge.${name}`, answer];
      await run("add", args, signal);
      return {
        async [Symbol.asyncDispose]() {
          const end = signal.aborted ? AbortSignal.timeout(hookAfterStopMs) : signal;
          // A record that stays does no harm, and the certificate is worth more.
          await run("remove", args, end).catch(() => {});
        },
      };
    },
    // The DNS is asked by the certificate authority itself: that the name leads here does not matter.
    async check() {},
  };
}

type Hook = ReturnType<typeof startHook>;

/** Starts a program in a process group of its own, by which also the processes that it starts can be ended. */
function startHook(command: string[]) {
  return Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe", detached: true });
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Keeps the beginning of what a program says. The rest is read, too: a program waits if nobody does. */
function heardFrom(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const listen = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      if (text.length < maxSaidChars) text += decoder.decode(next.value, { stream: true });
  };
  return {
    text: () => text,
    ended: listen().catch(() => {}),
    stop: () => void reader.cancel().catch(() => {}),
  };
}

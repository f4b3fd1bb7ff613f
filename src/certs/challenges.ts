import { lookup } from "node:dns/promises";
import { codeOf, messageOf } from "../base/fault.ts";
import { randomText } from "../base/random.ts";
import type { CertificateRows } from "../db/rows/certificate-rows.ts";
import type { Answerer } from "./authority.ts";
import { OrderFailure } from "./failure.ts";

/** Answers are removed when they are no longer needed; after this time also those of a node that was killed. */
const answerMs = 600_000;
const reachMs = 10_000;
const hookMs = 120_000;
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
    return { [Symbol.asyncDispose]: async () => void (await challenges.delete(token)) };
  };
  return {
    type: "http-01",
    show: (_, token, answer) => show(token, answer),
    async check(name, signal) {
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
  throw new OrderFailure("dns_elsewhere", `${origin} answered ${asked.status}, and not as this server does`);
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

/** `hookAnswerer` lets a program of the operator's put TXT records into the DNS and take them away. */
export function hookAnswerer(program: string): Answerer {
  const run = async (action: "add" | "remove", name: string, value: string) => {
    const hook = Bun.spawn([program, action, `_acme-challenge.${name}`, value], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: hookMs,
    });
    const [out, errors] = await Promise.all([hook.stdout.text(), hook.stderr.text()]);
    if ((await hook.exited) === 0) return;
    const said = `${errors}${out}`.trim().slice(0, maxSaidChars);
    const how = hook.signalCode ?? `exit code ${hook.exitCode}`;
    throw new OrderFailure(
      "dns_hook_failed",
      `${program} ${action}: ${how}${said === "" ? "" : `: ${said}`}`,
    );
  };
  const runs = (action: "add" | "remove", name: string, value: string) =>
    run(action, name, value).catch((error: unknown) => {
      if (error instanceof OrderFailure) throw error;
      throw new OrderFailure("dns_hook_failed", `${program} cannot be run: ${messageOf(error)}`);
    });
  return {
    type: "dns-01",
    async show(name, _token, answer) {
      await runs("add", name, answer);
      // A record that stays does no harm, and the certificate is worth more.
      return { [Symbol.asyncDispose]: () => runs("remove", name, answer).catch(() => {}) };
    },
    // The DNS is asked by the certificate authority itself: that the name leads here does not matter.
    async check() {},
  };
}

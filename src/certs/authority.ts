import { AsyncLocalStorage } from "node:async_hooks";
import type { Authorization, Client, Order } from "acme-client";
import { systemClock } from "../base/clock.ts";
import { wholeNumber } from "../base/numbers.ts";
import { type AcmeProblem, failureOf, OrderFailure, problemType } from "./failure.ts";
import type { RenewalWindow } from "./schedule.ts";

/** AuthoritySettings say where certificates are ordered, and as whom. */
export interface AuthoritySettings {
  /** The address of the ACME directory. */
  readonly directory: string;
  /** PEM of the authority that signs the directory's own certificate; undefined: those that the system trusts. */
  readonly ca: string | undefined;
  readonly email: string | undefined;
  readonly externalAccount: { readonly kid: string; readonly hmacKey: string } | undefined;
}

/** Answerer puts the answer to a challenge where the certificate authority looks for it; disposing the result removes it. */
export interface Answerer {
  readonly type: "http-01" | "dns-01";
  /** Throws an OrderFailure if an order would fail, before the certificate authority counts it. */
  check(name: string, signal: AbortSignal): Promise<void>;
  /** Rejects when `signal` fires. */
  show(
    name: string,
    token: string,
    shown: { readonly answer: string; readonly signal: AbortSignal },
  ): Promise<AsyncDisposable>;
}

/** Begun is what is stored of an order before the certificate authority can finish it. */
export interface Begun {
  /** PEM of the private key. */
  readonly key: string;
  /** The address of the order; undefined until there is one. */
  readonly order?: string | undefined;
}

interface OrderOptions {
  readonly answerer: Answerer;
  /** Answers that are shown until the certificate is stored: to take one away may take long. */
  readonly shown: AsyncDisposableStack;
  readonly begun: Begun;
  /** Stores the address of the order, by which the next attempt finds its certificate if this one is cut short. */
  keep(order: string): Promise<void>;
  /** The identifier of the certificate that this one replaces (RFC 9773). */
  readonly replaces: string | undefined;
  readonly signal: AbortSignal;
}

/** One request may take this long. */
const requestMs = 30_000;
/** The certificate authority may take this long, before and after the answer to its challenge is shown. */
const orderMs = 180_000;
const firstPollMs = 500;
const maxPollMs = 5000;
const maxAnswerBytes = 1024 * 1024;

/** Trust is for the requests of one call: the library has one HTTP client for all. */
interface Trust {
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}
const trust = new AsyncLocalStorage<Trust>();

/** Loaded with the first order: a server without `[tls] auto` needs none of it. */
async function library() {
  const acme = await import("acme-client");
  acme.axios.defaults.adapter = async (config) => {
    const { ca, signal } = trust.getStore() ?? {};
    const response = await send(config.url ?? "", {
      method: config.method?.toUpperCase() ?? "GET",
      headers: Object.fromEntries(Object.entries(config.headers).map(([key, value]) => [key, String(value)])),
      body: config.data as string | undefined,
      ca,
      signal,
    });
    return { ...response, statusText: "", config, request: undefined };
  };
  return acme;
}

interface Sent {
  readonly method: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | undefined;
  readonly ca: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Sends one request. A refusal is an OrderFailure with its reason, which the library would only tell in words. */
async function send(url: string, { ca, signal, ...request }: Sent) {
  const timeout = AbortSignal.timeout(requestMs);
  const response = await fetch(url, {
    ...request,
    signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  const text = await boundedText(response);
  const headers = Object.fromEntries(response.headers.entries());
  if (response.status >= 400) {
    const problem = problemIn(text);
    // The library repeats the request with the nonce of this answer.
    if (problemType(problem) !== "badNonce") throw refusal(response, problem);
  }
  return { status: response.status, data: text as unknown, headers };
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxAnswerBytes)
      throw new OrderFailure("ca_refused", "an answer of the certificate authority is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refusal({ status, headers }: Response, problem: AcmeProblem): OrderFailure {
  const retryAfterMs = (wholeNumber(headers.get("retry-after") ?? "") ?? 0) * 1000;
  if (problem.type !== undefined && status < 500) {
    // Of a request this is said about the account; of an authorization, about the server that the name leads to.
    const failure =
      problemType(problem) === "unauthorized"
        ? new OrderFailure("account_refused", problem.detail ?? "unauthorized", retryAfterMs)
        : failureOf(problem, retryAfterMs);
    return Object.assign(failure, { problem });
  }
  const reason = status === 429 ? "rate_limited" : status >= 500 ? "ca_away" : "ca_refused";
  return new OrderFailure(reason, problem.detail ?? `the answer was ${status}`, retryAfterMs);
}

function problemIn(text: string): AcmeProblem {
  try {
    const { type, detail } = JSON.parse(text) as Record<string, unknown>;
    return {
      ...(typeof type === "string" && { type }),
      ...(typeof detail === "string" && { detail }),
    };
  } catch {
    return {};
  }
}

/** Whether an error says that the certificate authority does not know the account, or the certificate that is replaced. */
function isProblem(error: unknown, type: string): boolean {
  return (
    error instanceof OrderFailure && "problem" in error && problemType(error.problem as AcmeProblem) === type
  );
}

/** Authority is a certificate authority that speaks ACME (RFC 8555), and the account there. */
export class Authority {
  readonly #settings: AuthoritySettings;
  readonly #accountKey: () => Promise<string>;
  #client: Promise<Client> | undefined;

  /** `accountKey` returns the stored key of the account, and stores a new one before that is used. */
  constructor(settings: AuthoritySettings, accountKey: () => Promise<string>) {
    this.#settings = settings;
    this.#accountKey = accountKey;
  }

  /** Orders a certificate for a name. Returns the private key and the chain, PEM. */
  async order(name: string, options: OrderOptions): Promise<string> {
    using limit = timeLimit(orderMs);
    const signal = AbortSignal.any([options.signal, limit.signal]);
    // A program of the operator's has a limit of its own.
    const answerer: Answerer = {
      ...options.answerer,
      show: (...args) => limit.without(() => options.answerer.show(...args)),
    };
    const order = () => this.#order(name, { ...options, answerer, stopped: options.signal, signal });
    return trust.run({ ca: this.#settings.ca, signal }, async () => {
      try {
        return await order();
      } catch (error) {
        // The account was removed, or the certificate authority has lost it: the same key makes a new one.
        if (!isProblem(error, "accountDoesNotExist")) throw error;
        this.#client = undefined;
        return await order();
      }
    });
  }

  /**
   * Returns when the certificate authority suggests to renew a certificate (RFC 9773), and after how many milliseconds to ask again;
   * undefined if it suggests nothing.
   */
  async renewalWindow(id: string, signal: AbortSignal): Promise<RenewalWindow | undefined> {
    const { ca, directory } = this.#settings;
    const request = { method: "GET", ca, signal };
    const { renewalInfo } = JSON.parse(String((await send(directory, request)).data)) as Record<
      string,
      unknown
    >;
    if (typeof renewalInfo !== "string") return undefined;
    const { data, headers } = await send(`${renewalInfo}/${id}`, request);
    const { suggestedWindow } = JSON.parse(String(data)) as {
      suggestedWindow?: { start?: string; end?: string };
    };
    const start = Date.parse(suggestedWindow?.start ?? "");
    const end = Date.parse(suggestedWindow?.end ?? "");
    if (!(start <= end)) return undefined;
    return { start, end, askAfterMs: (wholeNumber(headers["retry-after"] ?? "") ?? 0) * 1000 };
  }

  async #order(name: string, options: RunningOrder): Promise<string> {
    const { begun, replaces, keep, signal } = options;
    const { crypto } = await library();
    this.#client ??= this.#open();
    const client = await this.#client.catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    const finished = begun.order && (await this.#finished(client, begun, signal));
    if (finished) return finished;
    const begin = (more: object) =>
      client.createOrder({ identifiers: [{ type: "dns", value: name }], ...more });
    const order = await begin(replaces === undefined ? {} : { replaces }).catch((error: unknown) => {
      // What is replaced may be of another certificate authority, or replaced already.
      if (replaces === undefined || isProblem(error, "rateLimited")) throw error;
      return begin({});
    });
    for (const authorization of await client.getAuthorizations(order))
      if (authorization.status !== "valid") await this.#prove(client, order, { ...options, authorization });
    await this.#until(signal, () => client.getOrder(order), ["ready", "valid"]);
    const [, csr] = await crypto.createCsr({ altNames: [name] }, begun.key);
    await keep(order.url);
    await client.finalizeOrder(order, csr);
    const done = await this.#until(signal, () => client.getOrder(order), ["valid"]);
    return pemOf(begun, await client.getCertificate(done));
  }

  /** Returns the certificate of an order that was sent before the server ended; undefined if there is none. */
  async #finished(client: Client, begun: Begun, signal: AbortSignal): Promise<string | undefined> {
    try {
      const read = () => client.getOrder({ url: begun.order } as Order);
      if (!["processing", "valid"].includes((await read()).status)) return undefined;
      return pemOf(begun, await client.getCertificate(await this.#until(signal, read, ["valid"])));
    } catch {
      // The authority has forgotten it, or is another one.
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #prove(
    client: Client,
    order: Order,
    {
      authorization,
      answerer,
      shown,
      stopped,
      signal,
    }: RunningOrder & { readonly authorization: Authorization },
  ): Promise<void> {
    const { identifier, challenges, url } = authorization;
    const challenge = challenges.find(({ type }) => type === answerer.type);
    if (challenge === undefined)
      throw new OrderFailure(
        "challenge_missing",
        `offered: ${challenges.map(({ type }) => type).join(", ")}`,
      );
    const answer = await client.getChallengeKeyAuthorization(challenge);
    shown.use(await answerer.show(identifier.value, challenge.token, { answer, signal: stopped }));
    await client.completeChallenge(challenge);
    const own = async () => {
      const all = await client.getAuthorizations(order);
      return all.find((other) => other.url === url) ?? authorization;
    };
    await this.#until(signal, own, ["valid"]);
  }

  /** Asks until something has one of the statuses; throws once it can no longer have one. */
  async #until<T extends Order | Authorization>(
    signal: AbortSignal,
    read: () => Promise<T>,
    statuses: ReadonlyArray<T["status"]>,
  ): Promise<T> {
    for (let pauseMs = firstPollMs; ; pauseMs = Math.min(maxPollMs, pauseMs * 2)) {
      const found = await read();
      if (statuses.includes(found.status)) return found;
      if (!["pending", "processing", "ready"].includes(found.status)) throw failureOf(errorIn(found));
      // The certificate authority works by its own time.
      await systemClock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }

  async #open(): Promise<Client> {
    const { Client } = await library();
    const { directory, email, externalAccount } = this.#settings;
    const client = new Client({
      directoryUrl: directory,
      accountKey: await this.#accountKey(),
      ...(externalAccount && { externalAccountBinding: externalAccount }),
    });
    // Returns the account of this key if there is one.
    await client.createAccount({
      termsOfServiceAgreed: true,
      ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
    });
    return client;
  }
}

interface RunningOrder extends OrderOptions {
  /** Fires when the server stops. */
  readonly stopped: AbortSignal;
  /** Fires then, and when the order takes too long. */
  readonly signal: AbortSignal;
}

function pemOf({ key }: Begun, chain: string): string {
  return `${key.trim()}\n${chain.trim()}\n`;
}

/** A limit for the time that another system may take. It begins anew after work that has a limit of its own. */
function timeLimit(ms: number) {
  const ended = new AbortController();
  const begin = () =>
    systemClock.after(ms, () =>
      ended.abort(
        new OrderFailure(
          "ca_away",
          `the certificate authority took longer than ${ms / 1000} s for the order`,
        ),
      ),
    );
  let timer = begin();
  const stop = () => timer[Symbol.dispose]();
  return {
    signal: ended.signal,
    async without<T>(work: () => Promise<T>): Promise<T> {
      stop();
      try {
        return await work();
      } finally {
        timer = begin();
      }
    },
    [Symbol.dispose]: stop,
  };
}

/** The problem in an order or an authorization that failed: its own, or that of its challenge. */
function errorIn(found: Order | Authorization): AcmeProblem {
  const challenges = "challenges" in found ? found.challenges : [];
  const errors = [...challenges.map(({ error }) => error), "error" in found ? found.error : undefined];
  return (
    (errors.find((error) => error !== undefined) as AcmeProblem | undefined) ?? {
      detail: `it is ${found.status}`,
    }
  );
}

import { applied, type Home, newHome, type Server } from "./process.ts";
import { openRelay, type Relay, type RequestFault } from "./relay.ts";
import { seaweed } from "./seaweed.ts";
import { until } from "./until.ts";

/** What a request came to. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** S3Site is a server with the bucket `site`, whose content is in a real S3 store behind a relay. */
export class S3Site implements AsyncDisposable {
  readonly home: Home;
  readonly relay: Relay;
  /** Is asked about every request to the store. */
  onRequest: ((line: string) => RequestFault | undefined) | undefined;
  /** Below which the store has the blobs. */
  readonly prefix = crypto.randomUUID();
  server!: Server;
  /** Of its configuration. */
  #files: Readonly<Record<string, string>> = {};
  token = "";

  private constructor(home: Home, relay: S3Site["relay"]) {
    this.home = home;
    this.relay = relay;
  }

  /** `requestTimeoutMs` is how long the server waits for the store. */
  static async open(requestTimeoutMs: number): Promise<S3Site> {
    const { port, location } = await seaweed();
    const home = await newHome();
    const relay = await openRelay(port, { onRequest: (line) => site.onRequest?.(line) });
    const site: S3Site = new S3Site(home, relay);
    site.#files = {
      url: `s3://${location.bucket}/${site.prefix}`,
      endpoint: relay.url,
      access_key_id: location.accessKeyId,
      secret_access_key: location.secretAccessKey,
    };
    await site.#configure(requestTimeoutMs);
    site.server = await home.serve();
    site.token = site.server.superToken;
    await site.server.call("static-bucket_create", [site.token, "site"]);
    return site;
  }

  /** Another `requestTimeoutMs`, by a reload. */
  async waitFor(requestTimeoutMs: number): Promise<void> {
    await this.#configure(requestTimeoutMs);
    await until("the server waits for its store so long", async () => {
      const { event } = await this.server.reload();
      return event === applied().event;
    });
  }

  #configure(request_timeout_ms: number): Promise<void> {
    const files = Object.entries({ ...this.#files, request_timeout_ms });
    const lines = files.map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
    return this.home.configure({ files: lines.join("") });
  }

  get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
    return this.#fetch(`/node/static/site/${path}`, { method, headers });
  }

  dav(method: string, path: string, headers: Record<string, string> = {}, body?: string | Uint8Array) {
    const authorization = `Basic ${Buffer.from(this.token).toString("base64")}`;
    return this.#fetch(`/node/static-webdav/site/${path}`, {
      method,
      headers: { authorization, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  /** The reason of a call's failure, or its result. */
  async rpc(method: string, params: Record<string, unknown>): Promise<unknown> {
    const reply = await this.server.send(method, { token: this.token, name: "site", ...params });
    return reply.error === undefined ? reply.result : reply.error.data.reason;
  }

  /** What the server lacks to be ready. */
  async missing(): Promise<readonly string[]> {
    const { text } = await this.#fetch("/node/ready", {});
    return JSON.parse(text).missing ?? [];
  }

  /** How many lines of the log match. */
  logged(words: RegExp): number {
    return this.server.stderr.split("\n").filter((line) => words.test(line)).length;
  }

  async #fetch(path: string, init: BunFetchRequestInit): Promise<Answer> {
    const response = await fetch(this.server.url + path, { keepalive: false, ...init });
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
    await this.relay[Symbol.asyncDispose]();
  }
}

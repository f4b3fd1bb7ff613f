import { basic, superToken } from "./cluster.ts";

const clients = 2;

/** Load is clients that read and write through a balancer, one request after the other, and keep what failed. */
export class Load {
  readonly failures: string[] = [];
  answers = 0;
  #isOver = false;
  readonly #work: Promise<unknown>;

  /** With `calls` the clients also send POST requests, which a balancer must not send to another node once a node may have read them. */
  constructor(
    readonly url: string,
    readonly options: { readonly calls: boolean },
  ) {
    this.#work = Promise.all(Array.from({ length: clients }, (_, client) => this.#client(client)));
  }

  /** Ends the clients, each after its request. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #client(client: number): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const path = `load-${client}-${at % 5}`;
      const text = `content ${at} of client ${client}`;
      await this.#request("PUT", `/node/static-webdav/site/${path}`, { body: text });
      const strict = await this.#request("GET", `/node/static-webdav/site/${path}`);
      if (strict !== text) this.failures.push(`${path} is ${strict}, not ${text}`);
      await this.#request("PROPFIND", `/node/static-webdav/site/${path}`, { headers: { depth: "0" } });
      await this.#request("GET", `/node/static/site/load-${client}-0`);
      if (this.options.calls) await this.#call({ token: superToken, name: "site", path });
      await Bun.sleep(40);
    }
  }

  async #call(params: object): Promise<void> {
    const body = JSON.stringify({ jsonrpc: "2.0", method: "static-bucket-file_read", params, id: 1 });
    const headers = { "content-type": "application/json" };
    const answer = await this.#request("POST", "/jsonrpc", { body, headers });
    if (!answer.includes('"result"')) this.failures.push(`a call was answered ${answer.slice(0, 200)}`);
  }

  async #request(
    method: string,
    path: string,
    more: { body?: string; headers?: object } = {},
  ): Promise<string> {
    try {
      const response = await fetch(this.url + path, {
        method,
        keepalive: false,
        signal: AbortSignal.timeout(60_000),
        ...more,
        headers: { authorization: basic(superToken), ...more.headers },
      });
      const text = await response.text();
      this.answers += 1;
      if (!response.ok) this.failures.push(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
      return text;
    } catch (error) {
      this.failures.push(`${method} ${path}: ${error}`);
      return "";
    }
  }
}

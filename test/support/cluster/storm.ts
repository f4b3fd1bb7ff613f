import { etagOf, sha256 } from "../blob-stores.ts";
import { basic, type Cluster, type ClusterNode, superToken } from "./cluster.ts";
import { absent, now, type Operation, type Outcome } from "./history.ts";

/** A client gives up after this; the nodes must have answered long before. */
const maxWaitMs = 60_000;

/** What a request came to; the status is undefined if there was no answer. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly node: number;
  readonly begin: number;
  readonly end: number;
  readonly note: string;
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Default: the Super Token. Null sends none. */
  readonly token?: string | null;
}

export const davPath = (path: string) => `/node/static-webdav/site/${path}`;
export const plainPath = (path: string) => `/node/static/site/${path}`;

/** Storm is what the clients of a cluster share: the record of everything that they did, and chance. */
export class Storm {
  readonly operations: Operation[] = [];
  /** The last known state of each file. */
  readonly known = new Map<string, string>();
  /** A node that gets plain requests alone, so that nothing but its own looks tells it of changes. */
  quietNode = 0;
  isOver = false;
  #bodies = 0;

  constructor(
    readonly cluster: Cluster,
    readonly random: () => number,
  ) {}

  any<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }

  anyNode(): ClusterNode {
    return this.any(this.cluster.nodes);
  }

  /** A node for requests that make it look at the database. */
  busyNode(): ClusterNode {
    return this.any(this.cluster.nodes.filter(({ number }) => number !== this.quietNode));
  }

  /** No two bodies are the same, and a mixture of two is neither. */
  newBody(): string {
    this.#bodies += 1;
    return `${this.#bodies} ${this.random()} `
      .repeat(15_000)
      .slice(0, this.any([40, 40, 2000, 20_000, 150_000]));
  }

  /** Repeats the work, with pauses of about this long, until the storm is over. */
  async repeat(pauseMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.isOver) {
      await work();
      await Bun.sleep(2 * pauseMs * this.random());
    }
  }

  async send(node: ClusterNode, method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const { headers = {}, body, token = superToken } = asked;
    const begin = now();
    let answer: Pick<Answer, "status" | "headers" | "bytes">;
    try {
      const response = await fetch(node.url + path, {
        method,
        headers: {
          "accept-encoding": "identity",
          ...(token !== null && { authorization: basic(token) }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        redirect: "manual",
        // A connection of its own: a client that sends a request again on another would do it twice.
        keepalive: false,
        signal: AbortSignal.timeout(maxWaitMs),
      });
      answer = { status: response.status, headers: response.headers, bytes: await response.bytes() };
    } catch (error) {
      // A node that was killed or cannot be reached; whether it was done is unknown.
      answer = { status: undefined, headers: new Headers(), bytes: Buffer.from(String(error)) };
    }
    const note = `${method} ${path} ${answer.status}`;
    return { ...answer, node: node.number, begin, end: now(), note };
  }

  async call(node: ClusterNode, method: string, params: object): Promise<Answer & { readonly reply: Reply }> {
    const body = JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });
    const headers = { "content-type": "application/json" };
    const answer = await this.send(node, "POST", "/jsonrpc", { headers, body, token: null });
    const reply = answer.status === 200 ? (JSON.parse(Buffer.from(answer.bytes).toString()) as Reply) : {};
    return { ...answer, note: `${method} ${reply.error?.code ?? answer.status}`, reply };
  }

  record(operation: Operation): void {
    this.operations.push(operation);
  }

  /** Records a write that was sent, and what is known of it. */
  wrote(answer: Answer, change: { subject: string; parent: string; child: string }): Outcome {
    const outcome = outcomeOf(answer);
    this.record({ kind: "write", ...change, ...timesOf(answer), outcome });
    if (outcome === "done") this.known.set(change.subject, change.child);
    return outcome;
  }
}

export interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: { readonly reason?: string } };
}

export function timesOf({ node, begin, end, note }: Answer) {
  return { node, begin, end, note };
}

/** What refuses a change for certain. */
const refusals: readonly unknown[] = [401, 403, 404, 405, 409, 412, 423];

export function outcomeOf({ status, note, bytes }: Answer): Outcome {
  if (status !== undefined && status >= 200 && status < 300) return "done";
  if (refusals.includes(status)) return "refused";
  // 500 is a mistake of the server, whatever happens around it.
  if (status === undefined || status === 503) return "maybe";
  throw new Error(`${note}: ${Buffer.from(bytes).toString().slice(0, 500)}`);
}

/** The state of a file that an answer with a body shows. */
export function stateOf({ status, headers, bytes, note }: Answer): { saw?: string; broken?: string } {
  if (status === 200) {
    const etag = headers.get("etag") ?? "";
    return note.startsWith("HEAD") || etagOf(sha256(bytes)) === etag
      ? { saw: etag }
      : { broken: `the body is not that of ${etag}` };
  }
  if (status === 304) return { saw: headers.get("etag") ?? "" };
  if (status === 404) return { saw: absent };
  return status === undefined || status === 503 ? {} : { broken: `answered ${status}` };
}

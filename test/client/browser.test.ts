import { describe, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { until, within } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";
import { builtPackage } from "./consumer.ts";

const chromium = findProgram("the client in a browser", "chromium");

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

interface Evaluated {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
}

/** A real Chromium without a window, driven over its DevTools protocol; gone with its profile at the end of the scope. */
class Browser implements AsyncDisposable {
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #next = 1;

  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "ignore", "pipe">,
    private readonly profile: string,
    private readonly socket: WebSocket,
  ) {
    socket.onmessage = ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      if (reply.id !== undefined) this.#waiting.get(reply.id)?.(reply);
    };
  }

  static async open(path: string): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), "node-server-browser-"));
    const flags =
      "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --no-first-run --no-proxy-server --remote-debugging-port=0";
    const child = Bun.spawn([path, ...flags.split(" "), `--user-data-dir=${profile}`, "about:blank"], {
      env: { PATH: process.env.PATH, HOME: profile },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    let said = "";
    void (async () => {
      for await (const bytes of child.stderr) said += Buffer.from(bytes).toString();
    })();
    const address = await until("Chromium listens", () => /ws:\/\/\S+/.exec(said)?.[0]);
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error(`Chromium does not answer:\n${said}`));
    });
    return new Browser(child, profile, socket);
  }

  async #send(method: string, params: object, sessionId?: string): Promise<Readonly<Record<string, unknown>>> {
    const id = this.#next++;
    const answered = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    const { result, error } = await within(`Chromium answers ${method}`, answered, 40_000);
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  /** Opens a page and waits for what it promises as `report`. */
  async report(url: string): Promise<unknown> {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    const send = (method: string, params: object = {}) => this.#send(method, params, String(sessionId));
    await send("Network.enable");
    // Otherwise 5 MB are gone before a page hears of progress.
    const slow = { offline: false, latency: 0, downloadThroughput: 8e6, uploadThroughput: 8e6 };
    await send("Network.emulateNetworkConditions", slow);
    await send("Page.navigate", { url });
    const evaluate = async (expression: string) =>
      (await send("Runtime.evaluate", {
        expression,
        awaitPromise: true,
        returnByValue: true,
      })) as unknown as Evaluated;
    await until(`${url} is read`, async () => {
      const { result } = await evaluate(`location.href !== "about:blank" && document.readyState === "complete"`);
      return result.value === true;
    });
    const { result, exceptionDetails: failed } = await evaluate("report");
    if (failed !== undefined) throw new Error(failed.exception?.description ?? failed.text);
    return result.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
    this.child.kill("SIGKILL");
    await this.child.exited;
    // Its own children end a moment later, and write until then.
    await until("the profile is gone", () =>
      rm(this.profile, { recursive: true, force: true }).then(
        () => true,
        () => false,
      ),
    );
  }
}

/** What every page has: the package, a client for `url`, and five million bytes. */
function pageScript(url: string, token: string, code: string): string {
  return `import * as client from "./node-server-client.js";
const token = ${JSON.stringify(token)};
const server = new client.NodeServerClient(${JSON.stringify(url)}, { token });
const files = server.bucket("site");
const size = 5_000_000;
const large = new Uint8Array(size);
for (let i = 0; i < size; i += 1024) large[i] = i >> 10;
const failure = (promise) => promise.then(() => "no failure", (error) => error);
/** The way a request went: "fetch" or "xmlhttprequest". */
const wayOf = (name) => performance.getEntriesByName(files.address(name)).map((entry) => entry.initiatorType);
const sameBytes = async (blob) => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return bytes.length === size && bytes.every((byte, i) => byte === large[i]);
};
const progress = () => {
  const told = [];
  return {
    onProgress: (bytes, total) => told.push([bytes, total]),
    verdict: (whole) => ({
      several: told.length > 1,
      rising: told.every(([bytes], i) => i === 0 || bytes > told[i - 1][0]),
      totals: [...new Set(told.map(([, total]) => total))],
      last: told.at(-1)?.[0],
    }),
  };
};
globalThis.report = (async () => {${code}})();
`;
}

interface Visit {
  /** Whose page it is; the client talks to `to`. */
  readonly from: TestNode;
  readonly to?: TestNode;
  readonly code: string;
}

/** Serves a page from a bucket, opens it in Chromium, and hands back what it reports. */
async function visit({ from, to = from, code }: Visit): Promise<unknown> {
  const script = pageScript(to === from ? "/" : to.url, to.superToken, code);
  await siteWith(from, {
    "page.html": '<!doctype html><title>page</title><script type="module" src="page.js"></script>',
    "page.js": script,
    "node-server-client.js": await Bun.file(join(await builtPackage(), "index.js")).text(),
  });
  if (to !== from) await siteWith(to, {});
  await using browser = await Browser.open(chromium ?? "");
  return browser.report(`${from.url}/node/static/site/page.html`);
}

/** The same story on a page of the server itself, and on a page of another one. */
function eachOrigin(title: string, story: (from: TestNode, to: TestNode) => Promise<void>): void {
  test(`${title} (own page)`, async () => {
    await using node = await testNode();
    await story(node, node);
  }, 60_000);
  test(`${title} (page of another origin)`, async () => {
    await using from = await testNode();
    await using to = await testNode();
    await story(from, to);
  }, 60_000);
}

const folderOf = (node: TestNode) => join(node.folder, "static/site");

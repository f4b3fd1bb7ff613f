import { afterAll } from "bun:test";
import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";
import { failedStories } from "./test.ts";

/** SharedOptions are the options of `testNode` that can be compared; stories that give equal ones share a server. */
type SharedOptions = Pick<
  TestNodeOptions,
  "database" | "store" | "top" | "logging" | "databaseKeys" | "files" | "env"
>;

interface SharedServer {
  readonly opened: Promise<TestNode>;
  /** How many stories had failed when it was started. */
  readonly failures: number;
}

/** How many stories of this process have got a part of a server; it makes their names differ. */
let parts = 0;

/**
 * sharedNodes returns a function that opens the server of this file, in place of `testNode`. Call it at the top of a file. A server
 * is started when the first story asks for it, one for each set of options, and closed after the last story of the file.
 *
 * What a story gets has a `bucket` and names (`own`) that no other story of the file has; its sockets are closed at the end of its
 * scope. It must not reload or close the server, nor count what others add to: all tokens, buckets, log entries or connections. After
 * a story that failed, the next one gets a new server.
 */
export function sharedNodes(): (options?: SharedOptions) => Promise<TestNode> {
  const servers = new Map<string, SharedServer>();
  const started: Array<Promise<TestNode>> = [];
  afterAll(async () => {
    for (const opened of started) await (await opened)[Symbol.asyncDispose]();
  });
  return async (options = {}) => {
    const { store = "disk", database = store === "objects over postgres" ? "postgres" : "sqlite" } = options;
    const key = JSON.stringify({ ...options, store, database });
    let server = servers.get(key);
    if (server === undefined || server.failures !== failedStories()) {
      server = { opened: testNode(options), failures: failedStories() };
      servers.set(key, server);
      started.push(server.opened);
    }
    return partOf(await server.opened);
  };
}

/** The part of a server that belongs to one story. */
function partOf(server: TestNode): TestNode {
  parts += 1;
  const number = parts;
  const own = (name: string) => `${name}-${number}`;
  const opened = new AsyncDisposableStack();
  return {
    ...server,
    own,
    bucket: own("site"),
    socket: async () => opened.use(await server.socket()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

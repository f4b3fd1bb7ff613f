import { afterAll } from "bun:test";
import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";
import { failedStories } from "./test.ts";

interface SharedServer {
  readonly options: TestNodeOptions;
  readonly opened: Promise<TestNode>;
  /** How many stories had failed when it was started. */
  readonly failures: number;
}

/** How many stories of this process have got a part of a server; it makes their names differ. */
let parts = 0;

/**
 * A server that has rejected more credentials than this is not handed to another story. The server delays rejections after 20 in a
 * minute, and a story must not wait because of the guesses of others.
 */
const maxRejections = 6;

/**
 * sharedNodes returns a function that opens the server of this file, in place of `testNode`. Call it at the top of a file. A server
 * is started when the first story asks for it, one for each set of options, and closed after the last story of the file.
 *
 * What a story gets has a `bucket` and names (`own`) that no other story of the file has; its sockets are closed at the end of its
 * scope. It must not reload or close the server, nor count what others add to: all tokens, buckets, log entries or connections. After
 * a story that failed, the next one gets a new server.
 */
export function sharedNodes(): (options?: TestNodeOptions) => Promise<TestNode> {
  const servers: SharedServer[] = [];
  afterAll(async () => {
    for (const { opened } of servers) await (await opened)[Symbol.asyncDispose]();
  });
  return async (given = {}) => {
    const { store = "disk", database = store === "objects over postgres" ? "postgres" : "sqlite" } = given;
    const options = { ...given, store, database };
    const failures = failedStories();
    const latest = servers.findLast((server) => isSame(server.options, options));
    if (latest?.failures === failures) {
      const node = await latest.opened;
      if (rejections(node) <= maxRejections) return partOf(node);
    }
    const opened = testNode(options);
    servers.push({ options, opened, failures });
    return partOf(await opened);
  };
}

function isSame(one: TestNodeOptions, other: TestNodeOptions): boolean {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof TestNodeOptions>;
  return [...keys].every((key) => one[key] === other[key]);
}

/** rejections counts the credentials that a server has rejected. */
export function rejections({ node }: TestNode): number {
  const family = node.families.find(({ name }) => name === "node_server_authentication_failures_total");
  if (family === undefined || family.type === "histogram")
    throw new Error("the server does not count rejections");
  return [...family.samples()].reduce((sum, { value }) => sum + value, 0);
}

/** The part of a server that belongs to one story. */
function partOf(server: TestNode): TestNode {
  parts += 1;
  const number = parts;
  const own = (name: string) => `${name}_${number}`;
  const opened = new AsyncDisposableStack();
  return {
    ...server,
    own,
    bucket: own("site"),
    socket: async () => opened.use(await server.socket()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

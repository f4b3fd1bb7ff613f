import type { BucketEvent } from "../../../src/buckets/events.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";
import type { webhookReceiver } from "../webhooks.ts";
import { untold } from "./check-history.ts";
import { type ClusterNode, superToken } from "./cluster.ts";
import { now } from "./history.ts";
import { davPath, outcomeOf, type Storm, timesOf } from "./storm.ts";

const folder = "told/";
/** A node that was killed while it sent to a webhook holds up its events for a minute. */
const maxUntoldMs = 90_000;

/** The two who are told what changes in a bucket. */
export const listeners = ["follower", "webhook"] as const;

export async function makeToldFolder(storm: Storm): Promise<void> {
  await storm.send(storm.cluster.node(0), "MKCOL", davPath("told"));
}

/** Creates a file that nobody else touches. */
export async function createTold(storm: Storm): Promise<void> {
  const path = `${folder}${crypto.randomUUID()}`;
  const headers = { "if-none-match": "*" };
  const answer = await storm.send(storm.busyNode(), "PUT", davPath(path), { headers, body: path });
  storm.record({ kind: "change", subject: path, ...timesOf(answer), outcome: outcomeOf(answer) });
}

/** FollowedBucket is a follower that goes on after its last cursor, with each connection at another node. */
export class FollowedBucket {
  #cursor: string | undefined;

  constructor(readonly storm: Storm) {}

  /** Follows for about this long, unless the connection breaks. */
  async follow(ms: number, node: ClusterNode = this.storm.anyNode()): Promise<void> {
    const opened = await openSocket(node.url).catch(() => undefined);
    if (opened === undefined) return;
    const { socket, closed } = opened;
    socket.addEventListener("message", ({ data }) => this.#hear(String(data), node));
    const params = { token: superToken, name: "site", prefix: folder, cursor: this.#cursor };
    // A node that is killed now does not answer; its socket is closed.
    await Promise.race([opened.call("static-bucket_watch", params), closed, Bun.sleep(2000)]);
    await Promise.race([closed, Bun.sleep(ms)]);
    socket.close();
  }

  #hear(message: string, { number: node }: ClusterNode): void {
    const { params } = JSON.parse(message) as { params?: { result?: BucketEvent } };
    const event = params?.result;
    if (event === undefined) return;
    this.#cursor = event.cursor;
    const at = now();
    const times = { node, begin: at, end: at, note: event.event };
    const subject = event.event === "reset" ? "" : event.path;
    this.storm.record({ kind: "told", listener: "follower", subject, ...times });
  }
}

/** Waits, within bounds, until everything that was answered is told; what is not, the history shows. */
export async function untilTold(
  storm: Storm,
  follower: FollowedBucket,
  { deliveries }: ReturnType<typeof webhookReceiver>,
): Promise<void> {
  const isTold = async () => {
    await follower.follow(500);
    for (const { type, data } of deliveries.splice(0)) {
      const [subject, at] = [String(data.path), now()];
      const times = { node: 0, begin: at, end: at, note: type };
      if (subject.startsWith(folder)) storm.record({ kind: "told", listener: "webhook", subject, ...times });
    }
    return untold({ operations: storm.operations, listeners }).length === 0;
  };
  await until("everything is told", isTold, maxUntoldMs).catch(() => {});
}

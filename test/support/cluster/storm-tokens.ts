import { faultKinds } from "../../../src/base/fault.ts";
import { openSocket } from "../socket.ts";
import { superToken } from "./cluster.ts";
import { now } from "./history.ts";
import { davPath, type Reply, type Storm, timesOf } from "./storm.ts";
import { hotFiles } from "./storm-files.ts";

/** Uses go on for so long after a revocation. */
const watchMs = 1800;

const limits = [
  {
    scopes: ["global"],
    permissions: [{ static_bucket_file: "read" }, { node: "read_logs" }],
  },
];

/**
 * Makes a token, uses it on all nodes by HTTP, by calls and by an open WebSocket, revokes it on one, and sees for how long it is
 * accepted.
 */
export async function useAndRevoke(storm: Storm): Promise<void> {
  const params = { father_token: superToken, token_creation: { token_limit: limits } };
  const made = await storm.call(storm.busyNode(), "token_create", params);
  storm.record({ kind: "other", ...timesOf(made) });
  const { key = "", secret = "" } = (made.reply.result ?? {}) as { key?: string; secret?: string };
  if (key === "") return;
  const subject = `token ${key}`;
  const token = `${key}:${secret}`;
  const until = { at: Number.POSITIVE_INFINITY };
  const uses = storm.cluster.nodes.map(async (node) => {
    while (now() < until.at) {
      const isCall = storm.random() < 0.5;
      const answer = isCall
        ? await storm.call(node, "log_list", { token, limit: 1 })
        : {
            ...(await storm.send(node, "HEAD", davPath(storm.any(hotFiles)), { token })),
            reply: {} as Reply,
          };
      const isAccepted = isCall ? answer.reply.result !== undefined : answer.status === 200;
      storm.record(
        isAccepted ? { kind: "use", subject, ...timesOf(answer) } : { kind: "other", ...timesOf(answer) },
      );
      await Bun.sleep(50 + 100 * storm.random());
    }
  });
  const sockets = await Promise.all(storm.cluster.nodes.map((node) => subscribe(node.url, token)));
  await Bun.sleep(300 * storm.random());
  await revoke(storm, key, subject);
  until.at = now() + watchMs;
  await Promise.all(uses);
  for (const [node, socket] of sockets.entries())
    for (const at of socket?.loggedAt ?? [])
      storm.record({ kind: "use", subject, node, begin: at, end: at, note: "event of a subscription" });
  for (const socket of sockets) socket?.close();
}

async function revoke(storm: Storm, key: string, subject: string): Promise<void> {
  for (;;) {
    const answer = await storm.call(storm.busyNode(), "token_delete", {
      token: superToken,
      target_token: key,
    });
    const { result, error } = answer.reply;
    // A call whose answer was lost may have done it.
    const isGone = result !== undefined || error?.code === faultKinds.NotFound.code;
    storm.record(
      isGone ? { kind: "revocation", subject, ...timesOf(answer) } : { kind: "other", ...timesOf(answer) },
    );
    if (isGone) return;
    await Bun.sleep(100);
  }
}

interface Subscriber {
  /** When the entries that came were logged, by the clock of the history. */
  readonly loggedAt: readonly number[];
  close(): void;
}

async function subscribe(url: string, token: string): Promise<Subscriber | undefined> {
  const opened = await openSocket(url).catch(() => undefined);
  if (opened === undefined) return undefined;
  const { socket, closed } = opened;
  const loggedAt: number[] = [];
  socket.addEventListener("message", ({ data }) => {
    const entry = entryIn(String(data));
    // The nodes log the time of day, which may be set anew at any moment: only how old an entry is can be compared.
    if (entry !== undefined) loggedAt.push(now() - (Date.now() - Date.parse(entry.timestamp)));
  });
  // A node that is killed now does not answer; its socket is closed.
  const answered = opened.call("log_stream", { token, log_filter: "debug" });
  await Promise.race([answered, closed, Bun.sleep(2000)]);
  return { loggedAt, close: () => socket.close() };
}

/** The log entry in a message to a subscriber, if it has one that is not about the subscription itself. */
function entryIn(message: string): { readonly timestamp: string } | undefined {
  const { params } = JSON.parse(message) as {
    params?: { result?: { timestamp: string; fields?: { event?: string } } };
  };
  const entry = params?.result;
  return entry?.fields?.event === "log.ended" ? undefined : entry;
}

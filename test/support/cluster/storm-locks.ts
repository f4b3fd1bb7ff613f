import { now } from "./history.ts";
import { davPath, outcomeOf, type Storm, timesOf } from "./storm.ts";

const lockedFiles = ["locked/0", "locked/1"];
const timeoutSeconds = 4;
const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

export async function makeLockedFiles(storm: Storm): Promise<void> {
  await storm.send(storm.cluster.node(0), "MKCOL", davPath("locked"));
  for (const file of lockedFiles)
    await storm.send(storm.cluster.node(0), "PUT", davPath(file), { body: "x" });
}

/** Locks a file on one node, changes it on another and unlocks it on a third. */
export async function lockAndUnlock(storm: Storm): Promise<void> {
  const subject = storm.any(lockedFiles);
  const locked = await storm.send(storm.busyNode(), "LOCK", davPath(subject), {
    headers: { timeout: `Second-${timeoutSeconds}` },
    body: lockInfo,
  });
  if (outcomeOf(locked) !== "done") return storm.record({ kind: "other", ...timesOf(locked) });
  const token = locked.headers.get("lock-token") ?? "";
  const expiresAt = locked.begin + timeoutSeconds * 1000;
  const put = await storm.send(storm.busyNode(), "PUT", davPath(subject), {
    headers: { if: `(${token})` },
    body: storm.newBody(),
  });
  // The holder of a lock is not refused while it holds it.
  const isRefused = outcomeOf(put) === "refused" && put.end < expiresAt;
  const broken = { broken: "the holder of the lock was refused" };
  storm.record({
    kind: "read",
    subject,
    isStrict: true,
    saw: undefined,
    ...timesOf(put),
    ...(isRefused && broken),
  });
  await Bun.sleep(storm.random() * 200);
  const releasedAt = now();
  const unlocked = await storm.send(storm.busyNode(), "UNLOCK", davPath(subject), {
    headers: { "lock-token": token },
  });
  storm.record({ kind: "hold", subject, timeoutMs: timeoutSeconds * 1000, releasedAt, ...timesOf(locked) });
  storm.record({ kind: "other", ...timesOf(unlocked) });
}

/** Changes a file that may be locked, without the token of the lock. */
export async function intrude(storm: Storm): Promise<void> {
  const subject = storm.any(lockedFiles);
  const put = await storm.send(storm.busyNode(), "PUT", davPath(subject), { body: storm.newBody() });
  const isDone = outcomeOf(put) === "done";
  storm.record(isDone ? { kind: "intrusion", subject, ...timesOf(put) } : { kind: "other", ...timesOf(put) });
}

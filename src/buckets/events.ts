import type { Clock } from "../base/clock.ts";
import { type EventQueue, Mailbox } from "../base/mailbox.ts";
import { Task } from "../base/task.ts";
import type { DatabaseTransaction } from "../db/dialect.ts";
import { quietly } from "../log/span.ts";

export const changeKinds = ["created", "changed", "moved", "deleted", "published"] as const;

/** FileChange is what was done to a path of a bucket. */
export interface FileChange {
  readonly event: (typeof changeKinds)[number];
  /** Empty for the whole bucket. */
  readonly path: string;
  /** Where something that was moved was before. */
  readonly from?: string | undefined;
  /** Set for a folder with all that is in it. */
  readonly folder?: true | undefined;
  /** Set for what was published. */
  readonly deploy?: string | undefined;
  /** Who did it: a user name, or the key of a token. */
  readonly by?: string | undefined;
}

/** Outbox takes changes whose news must not get lost, with the changes themselves. */
export interface Outbox {
  wants(bucket: string): boolean;
  /** In the transaction of the changes, or, without one, once they are made. */
  add(
    bucket: string,
    changes: readonly FileChange[],
    transaction: DatabaseTransaction | undefined,
  ): Promise<void>;
  /** Called once changes that were added are durable. */
  wake(): void;
}

/** FilesStep is a step of the version of a bucket's files; `root` is the id of its top folder since. */
export interface FilesStep {
  readonly before: number;
  readonly after: number;
  readonly root: string;
}

/** Why a follower has to list the files again: it may have missed changes. */
export const resetReasons = ["begun", "not_kept", "slow", "lost"] as const;

/** BucketEvent is what a follower is told. A follower that begins again after `cursor` is told everything that came later. */
export type BucketEvent = { readonly cursor: string } & (
  | (FileChange & { readonly at: number })
  | { readonly event: "reset"; readonly reason: (typeof resetReasons)[number] }
);

/** Position is a state of a bucket's files. */
interface Position {
  readonly version: number;
  readonly root: string;
}

/** DoneStep is a step with what changed, and when. */
interface DoneStep extends FilesStep {
  readonly at: number;
  readonly changes: readonly FileChange[];
}

/** Events that wait for a slow reader before it is told to list again. */
const mailboxCapacity = 512;
/** Steps of one bucket that are kept for readers that come back, and steps that wait for one between them. */
const maxSteps = 512;
/** How long a bucket that nobody follows any more is kept up for readers that come back. */
const lingerMs = 60_000;
/** The interval at which the versions of followed buckets are read: other nodes may have made changes that were not told. */
const pollMs = 1000;
/** The interval at which the other nodes are told which buckets are followed here, and how long that counts. */
const announceMs = 10_000;
const maxUnannouncedMs = 30_000;
/** Buckets that other nodes follow; those beyond are not remembered, and their followers notice. */
const maxRemote = 10_000;

interface BucketEventsOptions {
  readonly clock: Clock;
  /** Reads where buckets are, by name; undefined if no version of the files is in the database, so that this process counts. */
  readonly positions:
    | ((names: readonly string[]) => Promise<ReadonlyMap<string, Position | undefined>>)
    | undefined;
  /** Sends a message to the other nodes. It may be lost. */
  readonly send: (message: string) => void;
}

/**
 * BucketEvents tells followers what changes in buckets. It keeps nothing in the database. Where nodes share the files, each step of a
 * bucket's version is sent to the nodes that have followers of it, and the versions in the database show whether one is missing: then
 * followers are told to list again, so that no change stays unknown, whatever is lost. A bucket without followers costs one look into
 * two maps.
 */
export class BucketEvents {
  readonly #options: BucketEventsOptions;
  readonly #feeds = new Map<string, Feed>();
  /** Until when other nodes follow buckets, by name. */
  readonly #remote = new Map<string, number>();
  /** Changes of each bucket since the start, where the store counts none. */
  readonly #counts = new Map<string, number>();
  readonly #ownRoot = Bun.randomUUIDv7();
  readonly #task: Task;
  #announcedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BucketEventsOptions) {
    this.#options = options;
    this.#task = new Task({
      clock: options.clock,
      run: () => this.#refresh(),
      // A database that is away changes nothing.
      failed: () => pollMs,
    });
  }

  /** notify passes on what was changed in a bucket. To be called once it is durable. Returns at once. */
  notify(bucket: string, changes: readonly FileChange[], step?: FilesStep): void {
    const counted = step ?? this.#count(bucket, changes);
    const feed = this.#feeds.get(bucket);
    const until = this.#remote.get(bucket);
    if (counted === undefined || (feed === undefined && until === undefined)) return;
    const done = { ...counted, at: this.#options.clock.now(), changes };
    feed?.add(done);
    if (until !== undefined && until > this.#now) this.#options.send(JSON.stringify(["step", bucket, done]));
  }

  /** hear takes a message of another node. It may be repeated, late or forged. */
  hear(message: string): void {
    const heard = readMessage(message);
    if (heard === undefined) return;
    if (heard.kind === "step") this.#feeds.get(heard.bucket)?.add(heard.step);
    else
      for (const bucket of heard.buckets)
        if (this.#remote.size < maxRemote || this.#remote.has(bucket))
          this.#remote.set(bucket, this.#now + maxUnannouncedMs);
  }

  /** follow tells what happens to paths that begin with `prefix`, from now on, or after `cursor`, until `stop` fires. */
  async follow(
    bucket: string,
    { prefix, cursor }: { readonly prefix: string; readonly cursor: string | undefined },
    stop: AbortSignal,
  ): Promise<EventQueue<BucketEvent>> {
    const feed = this.#open(bucket);
    const follower = new Follower(prefix, () => feed.cursor);
    const leave = () => {
      feed.followers.delete(follower);
      feed.waiting -= 1;
      feed.leftAt = this.#now;
      follower.mailbox.close();
    };
    if (stop.aborted) leave();
    else stop.addEventListener("abort", leave);
    // After the feed listens: what comes meanwhile waits in it.
    const present = await this.#positionOf(bucket);
    if (stop.aborted) return follower.mailbox;
    feed.begin(present);
    feed.join(follower, { cursor, present });
    return follower.mailbox;
  }

  /** close ends all followers. */
  async close(): Promise<void> {
    for (const { followers } of this.#feeds.values()) for (const { mailbox } of followers) mailbox.close();
    this.#feeds.clear();
    this.#remote.clear();
    await this.#task.close();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  /** The feed of a bucket, for one more who follows it. */
  #open(bucket: string): Feed {
    const present = this.#feeds.get(bucket);
    const feed = present ?? new Feed();
    // Before the task is due: it runs at once, and forgets what nobody follows.
    feed.waiting += 1;
    if (present !== undefined) return feed;
    this.#feeds.set(bucket, feed);
    this.#announcedAt = Number.NEGATIVE_INFINITY;
    this.#task.dueIn(0);
    return feed;
  }

  #count(bucket: string, changes: readonly FileChange[]): FilesStep | undefined {
    if (changes.length === 0) return undefined;
    const before = this.#counts.get(bucket) ?? 0;
    this.#counts.set(bucket, before + 1);
    return { before, after: before + 1, root: this.#ownRoot };
  }

  async #positionOf(bucket: string): Promise<Position> {
    const { positions } = this.#options;
    if (positions === undefined) return { version: this.#counts.get(bucket) ?? 0, root: this.#ownRoot };
    return (await positions([bucket])).get(bucket) ?? nowhere;
  }

  /** Announces what is followed, compares versions, and forgets what nobody follows. */
  async #refresh(): Promise<number | undefined> {
    const { positions, send } = this.#options;
    for (const [bucket, { waiting, leftAt }] of this.#feeds)
      if (waiting === 0 && leftAt + lingerMs < this.#now) this.#feeds.delete(bucket);
    for (const [bucket, until] of this.#remote) if (until < this.#now) this.#remote.delete(bucket);
    if (this.#feeds.size === 0) return undefined;
    if (positions === undefined) return lingerMs;
    const names = [...this.#feeds.keys()];
    if (this.#announcedAt + announceMs <= this.#now) {
      this.#announcedAt = this.#now;
      for (let at = 0; at < names.length; at += 20)
        send(JSON.stringify(["follows", names.slice(at, at + 20)]));
    }
    const found = await quietly(() => positions(names));
    for (const name of names) this.#feeds.get(name)?.compare(found.get(name) ?? nowhere);
    return pollMs;
  }
}

/** The position of a bucket that does not exist. */
const nowhere: Position = { version: -1, root: "" };

/** Feed is the newest steps of one bucket, in their order, and those who follow it. */
class Feed {
  readonly followers = new Set<Follower>();
  /** Those who follow, or are about to. */
  waiting = 0;
  leftAt = 0;
  /** Undefined until it is read. */
  #position: Position | undefined;
  /** The steps that led to the position, without a gap. */
  #steps: DoneStep[] = [];
  /** Steps that came before the one that leads to them, by the version before. */
  readonly #early = new Map<number, DoneStep>();
  /** What the last comparison found: a version that was not reached then, or that the position cannot be right. */
  #ahead: number | undefined;
  #isOff = false;

  get cursor(): string {
    return cursorOf(this.#position ?? nowhere);
  }

  begin(position: Position): void {
    if (this.#position !== undefined) return;
    this.#position = position;
    this.#drain();
  }

  /** Lets a follower in that begins now, or goes on after its cursor. `present` was read after it asked. */
  join(follower: Follower, { cursor, present }: { cursor: string | undefined; present: Position }): void {
    this.followers.add(follower);
    const last = cursor === undefined ? undefined : this.#versionAt(cursor, present);
    if (last === undefined) {
      follower.reset(cursor === undefined ? "begun" : "not_kept");
      return;
    }
    follower.after = last;
    for (const step of this.#steps) follower.offer(step);
  }

  /** The version of a cursor after which everything is known, or on its way; undefined if there is none. */
  #versionAt(cursor: string, present: Position): number | undefined {
    const [, version, root] = /^(-?\d{1,15})-(.*)$/.exec(cursor) ?? [];
    const last = version === undefined ? undefined : Number(version);
    if (last === undefined || last > present.version) return undefined;
    if (last === present.version) return root === present.root ? last : undefined;
    const isOnItsWay = last >= (this.#position?.version ?? -1);
    return isOnItsWay || this.#steps.some(({ before }) => before === last) ? last : undefined;
  }

  add(step: DoneStep): void {
    if (this.#early.size >= maxSteps) this.#early.clear();
    this.#early.set(step.before, step);
    this.#drain();
  }

  /**
   * compare finds out whether a step is missing. One that is on its way has come by the next comparison; if it has not, all followers have
   * to list again.
   */
  compare(found: Position): void {
    const now = this.#position;
    if (now === undefined) return;
    const isOff = found.version < now.version || (found.version === now.version && found.root !== now.root);
    const isMissing = this.#ahead !== undefined && now.version < this.#ahead;
    if (isMissing || (isOff && this.#isOff)) {
      this.#position = found;
      this.#steps = [];
      this.#ahead = undefined;
      this.#isOff = false;
      for (const follower of this.followers) follower.reset("lost");
      this.#drain();
      return;
    }
    this.#isOff = isOff;
    this.#ahead = found.version > now.version ? found.version : undefined;
  }

  #drain(): void {
    if (this.#position === undefined) return;
    for (;;) {
      const step = this.#early.get(this.#position.version);
      if (step === undefined) break;
      this.#early.delete(step.before);
      if (step.after <= step.before) continue;
      this.#position = { version: step.after, root: step.root };
      this.#steps.push(step);
      if (this.#steps.length > maxSteps) this.#steps.shift();
      for (const follower of this.followers) follower.offer(step);
    }
    for (const before of this.#early.keys()) if (before < this.#position.version) this.#early.delete(before);
  }
}

/** Follower is one reader, with what waits for it. */
class Follower {
  readonly mailbox: Mailbox<BucketEvent>;
  /** Steps up to this version are known to it. */
  after = Number.NEGATIVE_INFINITY;
  readonly #prefix: string;
  readonly #cursor: () => string;
  #isLate = false;

  constructor(prefix: string, cursor: () => string) {
    this.#prefix = prefix;
    this.#cursor = cursor;
    this.mailbox = new Mailbox(mailboxCapacity, () => {
      if (this.#isLate) this.reset("slow");
    });
  }

  offer({ before, after, root, at, changes }: DoneStep): void {
    if (after <= this.after || this.#isLate) return;
    const seen = changes.flatMap((change) => seenFrom(this.#prefix, change) ?? []);
    if (seen.length === 0) return;
    // Until all of a step is told, the cursor is that of the state before it.
    const events = seen.map((change, index) => ({
      ...change,
      at,
      cursor:
        index === seen.length - 1 ? cursorOf({ version: after, root }) : cursorOf({ version: before, root }),
    }));
    this.#isLate = !this.mailbox.offer(...events);
  }

  /** Whatever waits is not needed any more, but stays: the reader lists when it comes to this. */
  reset(reason: (typeof resetReasons)[number]): void {
    this.#isLate = !this.mailbox.offer({ event: "reset", reason, cursor: this.#cursor() });
  }
}

function cursorOf({ version, root }: Position): string {
  return `${version}-${root}`;
}

/** seenFrom returns a change as who follows a prefix sees it: no path outside of the prefix is told. */
function seenFrom(prefix: string, change: FileChange): FileChange | undefined {
  const { event, path, from, folder, ...rest } = change;
  if (prefix === "" || event === "published") return change;
  const sees = (at: string) => at.startsWith(prefix) || (folder === true && prefix.startsWith(`${at}/`));
  if (event !== "moved") return sees(path) ? change : undefined;
  const [arrives, leaves] = [sees(path), from !== undefined && sees(from)];
  if (arrives && leaves) return change;
  if (arrives) return { ...rest, event: "created", path, folder };
  return leaves ? { ...rest, event: "deleted", path: from ?? path, folder } : undefined;
}

type Message =
  | { readonly kind: "step"; readonly bucket: string; readonly step: DoneStep }
  | { readonly kind: "follows"; readonly buckets: readonly string[] };

function readMessage(text: string): Message | undefined {
  try {
    const [kind, about, step] = JSON.parse(text) as unknown[];
    if (kind === "follows" && Array.isArray(about))
      return { kind, buckets: about.filter((name) => typeof name === "string") };
    if (kind === "step" && typeof about === "string" && isStep(step)) return { kind, bucket: about, step };
  } catch {
    // What is not JSON is of somebody else.
  }
  return undefined;
}

function isStep(value: unknown): value is DoneStep {
  const { before, after, root, at, changes } = (value ?? {}) as Partial<DoneStep>;
  const areNumbers = [before, after, at].every((number) => Number.isSafeInteger(number));
  return areNumbers && typeof root === "string" && Array.isArray(changes) && changes.every(isChange);
}

function isChange(value: unknown): value is FileChange {
  const { event, path, from = "", by = "" } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isKnown = changeKinds.some((kind) => kind === event);
  return isKnown && [path, from, by].every((text) => typeof text === "string");
}

// This folder knows the nodes that share one database. Each process of a node keeps a row about itself there, with a
// heartbeat, and reads the rows of the others; db/rows/node-rows.ts has the rows. The Roster warns of settings by
// which nodes disturb each other. It decides nothing: a node whose row cannot be written goes on serving.

import { atMost, type Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { Task } from "../base/task.ts";
import { aliveMs, keyOf, type NodeRow, type NodeRows } from "../db/rows/node-rows.ts";
import type { Logger } from "../log/hub.ts";
import { quietly } from "../log/span.ts";

const heartbeatMs = 10_000;
/** Rows of nodes that did not come back are removed after a day. */
const maxDeadMs = 24 * 3600 * 1000;
/** A database that does not answer delays a start or a stop for this time at most. */
const maxWaitMs = 3000;

/** NodeSettings are what a node says about itself. */
export interface NodeSettings {
  readonly name: string;
  /** Undefined: the address of the listener, if others can reach that. */
  readonly url: string | undefined;
}

/** RosterHome is where the row of this node is, kept open until it is released. */
interface RosterHome {
  readonly rows: NodeRows;
  readonly uuid: string;
  /** The id of the store of the files. */
  readonly files: string;
  release(): void;
}

interface RosterOptions {
  /** Made at the start; the processes of one node have the same. */
  readonly boot: string;
  /** The number of this process, if the node has several. */
  readonly process?: number | undefined;
  readonly version: string;
  readonly uptimeMs: () => number;
  readonly acquire: () => RosterHome;
  /** Must not reject. */
  readonly isReady: () => Promise<boolean>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** ClusterView is who uses the database, as this node sees it. */
export interface ClusterView {
  readonly answered_by: { readonly uuid: string; readonly boot: string };
  readonly nodes: readonly ClusterNode[];
  readonly warnings: readonly NodesWarning[];
}

/** JoinedRow is the row of this node in one database. */
interface JoinedRow {
  readonly home: RosterHome;
  readonly key: string;
  /** When the node started, by the clock of this database; undefined until that was read. */
  since?: number;
  /** The last heartbeat that was written. */
  beat?: string;
}

/**
 * Roster keeps a row about this node in the database, with a heartbeat, and reads those of the others. It decides nothing: a node
 * whose row cannot be written goes on serving. Where only one server can use the database, the row is written when it changes,
 * without heartbeats.
 */
export class Roster {
  readonly #options: RosterOptions;
  /** Tells the heartbeats of this process apart from those of another that has the same row. */
  readonly #writer: string = crypto.randomUUID();
  #heartbeats = 0;
  #settings: NodeSettings | undefined;
  #listener: { readonly url: string | undefined } | undefined;
  #joined: JoinedRow | undefined;
  readonly #heartbeat: Task;
  #warnings: readonly NodesWarning[] = [];
  /** Rows of earlier starts of this server, by key, with their last heartbeats; undefined until they were read. */
  #earlier: Map<string, string> | undefined;
  #crashed = false;

  constructor(options: RosterOptions) {
    this.#options = options;
    this.#heartbeat = new Task({
      clock: options.clock,
      closeMs: Number.POSITIVE_INFINITY,
      run: async () => {
        // A heartbeat is nothing that the log should show.
        const knewCrash = this.#crashed;
        const nodes = await quietly(() => this.#sendHeartbeat());
        if (this.#crashed && !knewCrash)
          options.log.event("server.crashed", "the last run of this server did not end by a stop", {});
        this.#warn(nodes);
        return this.#pauseMs;
      },
      failed: (error) => {
        options.log.debug("the heartbeat of this node was not written", { reason: messageOf(error) });
        return this.#pauseMs;
      },
    });
  }

  /** What is wrong between this node and others, as of the last heartbeat. */
  get warnings(): readonly NodesWarning[] {
    return this.#warnings;
  }

  /** Whether the last run of this server did not end by a stop. Where other nodes may be, that is known after a minute. */
  get crashed(): boolean {
    return this.#crashed;
  }

  /** The name of this node; empty before a configuration is read. */
  get name(): string {
    return this.#settings?.name ?? "";
  }

  /** Takes the URL of the node from `listener`, unless the settings have one. */
  advertise(listener: { readonly url: string | undefined }): void {
    this.#listener = listener;
  }

  /** Applies a configuration and writes the row, which the first time is how a node joins. */
  apply(settings: NodeSettings): void {
    this.#settings = settings;
    this.refresh();
  }

  /** Writes the row now: something about the node has changed. */
  refresh(): void {
    if (this.#settings !== undefined) this.#heartbeat.dueIn(0);
  }

  /** Resolves when the row is written, or when that takes too long. Never rejects. */
  async settled(): Promise<void> {
    await atMost(this.#heartbeat.settled(), { ms: maxWaitMs });
  }

  /** Removes the row, unless the database takes too long. Never rejects. */
  async leave(): Promise<void> {
    const left = this.#heartbeat.close().then(() => this.#quit(this.#joined));
    await atMost(left, { ms: maxWaitMs });
  }

  /** Reads the rows of all nodes. Throws if the database cannot be read. */
  async view(): Promise<ClusterView> {
    const home = this.#options.acquire();
    try {
      const ready = await this.#options.isReady();
      const { nowMs, rows } = await home.rows.list();
      const own = this.#ownRow(home, { at: nowMs, since: this.#joined?.since, ready });
      const nodes = toNodes([...rows.filter(({ key }) => key !== own.key), own], nowMs);
      const { uuid, boot } = own;
      return { answered_by: { uuid, boot }, nodes, warnings: findWarnings(nodes) };
    } finally {
      home.release();
    }
  }

  /** Where nobody else can be, the row is written only when it changes. */
  get #pauseMs(): number | undefined {
    return this.#joined?.home.rows.isShared === false ? undefined : heartbeatMs;
  }

  async #sendHeartbeat(): Promise<readonly ClusterNode[]> {
    const previous = this.#joined;
    const joined = this.#enter(previous);
    const { home } = joined;
    try {
      // A node that joins has just opened its database and its store.
      const ready = joined.beat === undefined || (await this.#options.isReady());
      const { nowMs, rows } = await home.rows.list();
      const own = this.#ownRow(home, { at: nowMs, since: joined.since, ready });
      joined.since = own.since;
      this.#findCrash(joined, rows, nowMs);
      if (!rows.some((row) => this.#isSuccessor(row, own))) {
        const { key, uuid, ...value } = { ...own, crashed: this.#crashed };
        joined.beat = own.beat;
        await home.rows.write(uuid, value);
      }
      const over = rows.filter((row) => isOver(row, joined, nowMs));
      await home.rows.remove(over.map(({ key }) => key));
      return toNodes([...rows.filter(({ key }) => key !== own.key), own], nowMs);
    } finally {
      if (previous !== joined) await this.#quit(previous);
    }
  }

  /** Returns the row in the present database: `previous`, unless a reload has changed the database or the UUID. */
  #enter(previous: JoinedRow | undefined): JoinedRow {
    const home = this.#options.acquire();
    if (previous !== undefined && previous.home.rows === home.rows && previous.home.uuid === home.uuid) {
      home.release();
      return previous;
    }
    const { boot, process } = this.#options;
    this.#joined = { home, key: keyOf({ uuid: home.uuid, boot, process }) };
    return this.#joined;
  }

  /** A stop removes the row, so a row of an earlier start that nobody writes any more is that of a crash. */
  #findCrash({ home, key: ownKey }: JoinedRow, rows: readonly NodeRow[], nowMs: number): void {
    const ours = rows.filter(({ uuid, key }) => uuid === home.uuid && key !== ownKey);
    const isSibling = ({ boot }: NodeRow) => boot === this.#options.boot;
    this.#earlier ??= new Map(ours.filter((row) => !isSibling(row)).map(({ key, beat }) => [key, beat]));
    for (const [key, beat] of this.#earlier) {
      const row = ours.find((one) => one.key === key);
      // It has stopped, or it is another node that has the same UUID.
      if (row?.beat !== beat) this.#earlier.delete(key);
      else if (!home.rows.isShared || nowMs - row.at > aliveMs) this.#crashed = true;
    }
    // Another process of this node may have removed the row.
    if (ours.some((row) => isSibling(row) && row.crashed)) this.#crashed = true;
  }

  /** Whether a row is that of a process which takes the place of this one: it is beside this one for a while. */
  #isSuccessor({ key, since, beat }: NodeRow, own: NodeRow): boolean {
    return key === own.key && since > own.since && !beat.startsWith(this.#writer);
  }

  /** Removes the row from a database, and ends the use of that. A row that is in use stays. */
  async #quit(joined: JoinedRow | undefined): Promise<void> {
    if (joined === undefined) return;
    const { home, key, beat } = joined;
    try {
      await quietly(async () => {
        const { rows } = await home.rows.list();
        // A reload may have opened the same database again, and another process may have taken the place of this one: both wrote
        // the row anew.
        if (rows.some((row) => row.key === key && row.beat === beat)) await home.rows.remove([key]);
      });
    } catch (error) {
      this.#options.log.debug("the row of this node was not removed", { reason: messageOf(error) });
    } finally {
      home.release();
    }
  }

  #ownRow(
    { uuid, files }: RosterHome,
    {
      at,
      since,
      ready,
    }: { readonly at: number; readonly since: number | undefined; readonly ready: boolean },
  ): NodeRow {
    const { boot, process, version, uptimeMs } = this.#options;
    const { name, url } = this.#settings ?? { name: uuid, url: undefined };
    return {
      key: keyOf({ uuid, boot, process }),
      uuid,
      boot,
      name,
      url: url ?? reachable(this.#listener?.url),
      version,
      since: since ?? at - uptimeMs(),
      at,
      ready,
      files,
      ...(process !== undefined && { process }),
      beat: `${this.#writer}/${this.#heartbeats++}`,
    };
  }

  /** Logs each warning about this node once, until it is over. */
  #warn(nodes: readonly ClusterNode[]): void {
    const uuid = this.#joined?.home.uuid ?? "";
    const { boot, log } = this.#options;
    const warnings = findWarnings(nodes).filter(({ nodes }) => nodes.includes(uuid));
    const isNew = ({ event }: NodesWarning) => !this.#warnings.some((old) => old.event === event);
    for (const { event, nodes: uuids } of warnings.filter(isNew)) {
      const others = nodes.filter((node) => uuids.includes(node.uuid) && node.boot !== boot);
      const names = others.map(({ name }) => name);
      if (event === "nodes.same_uuid")
        log.event(event, `another node has the same server_uuid: ${names.join(", ")}; ${uuidAdvice}`, {
          uuid,
          others: names,
        });
      else
        log.event(
          event,
          `nodes on this database use different file stores: ${names.join(", ")}; ${filesAdvice}`,
          {
            others: names,
          },
        );
    }
    this.#warnings = warnings;
  }
}

const uuidAdvice =
  "delete the .uuid file that was copied with the configuration, or set another server_uuid, and restart";
const filesAdvice =
  "each serves its own files, and changes are lost; give all of them the same [files] url (a folder that all have mounted, or S3), or stop the others";

/** Whether a row can be removed: of an earlier start of this server that is dead, or of a node that did not come back for a day. */
function isOver({ key, uuid, at }: NodeRow, { home, key: ownKey }: JoinedRow, nowMs: number): boolean {
  if (key === ownKey) return false;
  // Nobody else can be there.
  if (!home.rows.isShared) return true;
  return nowMs - at > (uuid === home.uuid ? aliveMs : maxDeadMs);
}

/** The URL of a listener, unless it listens on all addresses of the machine, none of which is known here. */
function reachable(url: string | undefined): string | null {
  if (url === undefined || url.startsWith("unix:")) return null;
  const { hostname } = new URL(url);
  return hostname === "0.0.0.0" || hostname === "[::]" ? null : url;
}

/** ClusterNode is one node that uses the database, with all of its processes. Times are Unix milliseconds of the database's clock. */
interface ClusterNode {
  readonly uuid: string;
  readonly boot: string;
  readonly name: string;
  readonly url: string | null;
  readonly version: string;
  readonly since: number;
  readonly last_seen: number;
  readonly alive: boolean;
  readonly ready: boolean;
  readonly files: string;
  readonly processes: number;
}

/** NodesWarning is something wrong between nodes; `event` is the code of its log entry. */
interface NodesWarning {
  readonly event: "nodes.same_uuid" | "nodes.files_not_shared";
  /** The UUIDs of the nodes that it is about, sorted. */
  readonly nodes: readonly string[];
}

/**
 * `toNodes` makes nodes of the rows, by name. A row that a later start of the same server has replaced is left out: it is of a process that
 * was killed. `alive` is false for a node whose last heartbeat is long ago.
 */
export function toNodes(rows: readonly NodeRow[], nowMs: number): ClusterNode[] {
  const groups = [...Map.groupBy(rows, ({ uuid, boot }) => `${uuid}/${boot}`).values()];
  const nodes = groups.flatMap((group) => toNode(group, nowMs));
  const isReplaced = (node: ClusterNode) =>
    nodes.some((other) => other.uuid === node.uuid && other.boot !== node.boot && follows(other, node));
  return nodes
    .filter((node) => !isReplaced(node))
    .sort((a, b) => compare(a.name, b.name) || compare(a.uuid, b.uuid) || a.since - b.since);
}

/** `findWarnings` compares the nodes that are alive. Those that have not run at the same time do not disturb each other. */
export function findWarnings(nodes: readonly ClusterNode[]): NodesWarning[] {
  const alive = nodes.filter((node) => node.alive);
  const pairs = alive.flatMap((one, at) =>
    alive
      .slice(at + 1)
      .flatMap((other) => (follows(one, other) || follows(other, one) ? [] : [[one, other]])),
  ) as ReadonlyArray<readonly [ClusterNode, ClusterNode]>;
  const twice = pairs.filter(([one, other]) => one.uuid === other.uuid);
  const apart = pairs.filter(([one, other]) => one.files !== other.files || one.files === plainFiles);
  return [...toWarning("nodes.same_uuid", twice), ...toWarning("nodes.files_not_shared", apart)];
}

/** The id of plain files below `static_path`, which no two nodes can share. */
const plainFiles = "disk";

function toWarning(
  event: NodesWarning["event"],
  pairs: ReadonlyArray<readonly [ClusterNode, ClusterNode]>,
): NodesWarning[] {
  if (pairs.length === 0) return [];
  return [{ event, nodes: [...new Set(pairs.flat().map(({ uuid }) => uuid))].sort() }];
}

/** `follows` returns whether `one` started after the last heartbeat of `other`. */
function follows(one: ClusterNode, other: ClusterNode): boolean {
  return one.since > other.last_seen;
}

/** The oldest process that is alive speaks for its node: an update restarts it last. */
function toNode(group: readonly NodeRow[], nowMs: number): ClusterNode[] {
  // A time far in the future is from before the clock was set back.
  const alive = group.filter(({ at }) => Math.abs(nowMs - at) < aliveMs);
  const shown = alive.length > 0 ? alive : group;
  const [oldest] = [...shown].sort((a, b) => a.since - b.since);
  if (oldest === undefined) return [];
  const { uuid, boot, name, url, version, files } = oldest;
  return [
    {
      uuid,
      boot,
      name,
      url,
      version,
      since: Math.min(...shown.map(({ since }) => since)),
      last_seen: Math.max(...shown.map(({ at }) => at)),
      alive: alive.length > 0,
      ready: alive.length > 0 && alive.every(({ ready }) => ready),
      files,
      processes: shown.length,
    },
  ];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

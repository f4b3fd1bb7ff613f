import { atMost } from "../base/clock.ts";
import type { Outcome } from "../config/live.ts";
import type { LogEntry } from "../log/entry.ts";
import type { EventFields } from "../log/events.ts";
import { type SampledProcess, sampleFamilies } from "../metrics/family.ts";
import type { Node } from "../node.ts";
import type { ProcessGroup } from "../process-group.ts";
import {
  channelDescriptor,
  type FromMember,
  type MemberRole,
  memberVariable,
  openJsonChannel,
  type ToMember,
} from "./messages.ts";

/** How long the supervisor may take to answer for the other processes. */
const gatherMs = 3000;

interface MemberEvents {
  /** The supervisor wants this process to stop, or has ended itself. */
  onStop(signal: string): void;
  /** The supervisor does not want to wait for the stop. */
  onStopNow(): void;
  onReload(): Promise<Outcome>;
}

/** Member is this process as one of several of a server, with the way to its supervisor. */
export class Member implements ProcessGroup {
  readonly number: number;
  readonly count: number;
  readonly takesOver: boolean;
  readonly boot: string;
  readonly #send: (message: FromMember) => void;
  #node: Node | undefined;
  #isStopping = false;
  #nextId = 1;
  readonly #asked = new Map<number, (processes: readonly SampledProcess[]) => void>();

  private constructor({ number, count, takesOver, boot }: MemberRole, send: (message: FromMember) => void) {
    this.number = number;
    this.count = count;
    this.takesOver = takesOver;
    this.boot = boot;
    this.#send = send;
  }

  /** Opens the way to the supervisor; undefined if none has started this process. Removes what it was started with from `env`. */
  static async open(env: NodeJS.ProcessEnv, events: MemberEvents): Promise<Member | undefined> {
    const role = env[memberVariable];
    if (role === undefined) return undefined;
    delete env[memberVariable];
    const early: FromMember[] = [];
    let send = (message: FromMember): void => {
      early.push(message);
    };
    const member = new Member(JSON.parse(role) as MemberRole, (message) => send(message));
    const channel = await openJsonChannel<ToMember, FromMember>(channelDescriptor, {
      message: (message) => member.#receive(message, events),
      // The supervisor has ended without a word: nobody else would stop this process.
      end: () => events.onStop("the end of its supervisor"),
    });
    send = (message) => channel.send(message);
    for (const message of early) send(message);
    return member;
  }

  /** Tells the supervisor that this process serves. */
  ready(node: Node, version: string): void {
    this.#node = node;
    this.#send({ type: "ready", url: node.url, version });
  }

  /** Tells the supervisor how long the stop of this process may take. */
  stopping(maxMs: number): void {
    this.#send({ type: "stopping", maxMs });
  }

  /** Tells the supervisor that a new binary is in place. */
  restart(): void {
    this.#send({ type: "restart" });
  }

  relay = (entry: LogEntry): void => this.#send({ type: "entry", entry });

  reloadOthers(): void {
    this.#send({ type: "reload-others" });
  }

  async gather(): Promise<readonly SampledProcess[]> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<readonly SampledProcess[]>();
    this.#asked.set(id, resolve);
    this.#send({ type: "gather", id });
    return atMost(promise, { ms: gatherMs, late: [] }).finally(() => this.#asked.delete(id));
  }

  #receive(message: ToMember, { onStop, onStopNow, onReload }: MemberEvents): void {
    if (message.type === "ping") this.#send({ type: "pong" });
    if (message.type === "stop") {
      if (this.#isStopping) onStopNow();
      this.#isStopping = true;
      onStop(message.signal);
    }
    if (message.type === "reload")
      void onReload().then((outcome) => this.#send({ type: "reloaded", id: message.id, outcome }));
    if (message.type === "gathered") this.#asked.get(message.id)?.(message.processes);
    if (this.#node === undefined) return;
    if (message.type === "announce") this.#node.announce(message);
    if (message.type === "sample")
      this.#send({ type: "sampled", id: message.id, families: sampleFamilies(this.#node.families) });
    if (message.type === "entry") this.#node.hub.relay(message.entry);
    if (message.type === "event") {
      const { code, message: text, fields } = message;
      this.#node.hub.logger("server").event(code, text, fields as EventFields<typeof code>);
    }
  }
}

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { Task } from "../base/task.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans, quietly } from "../log/span.ts";
import {
  backupFact,
  judge,
  judgeShared,
  loggedFacts,
  measuredFacts,
  nodeFacts,
  recentMs,
  type Verdict,
} from "../metrics/verdict.ts";
import type { Services } from "../services.ts";

const everyMs = 60_000;
/** The key of the verdict on what all nodes share. */
const sharedKey = "shared";

interface VerdictWatchOptions {
  /** Keeps the present services open until they are released. */
  readonly acquire: () => { readonly services: Services; release(): void };
  /** False for all processes of a node but one. */
  readonly isFirst: boolean;
  /** The name of this node. */
  readonly name: () => string;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * VerdictWatch tells webhooks when the verdict turns, or has a reason that it did not have. Each node tells of itself; of what all nodes
 * share, one of them does. A verdict is told once it was found twice, a minute apart.
 */
export class VerdictWatch {
  readonly #options: VerdictWatchOptions;
  readonly #task: Task;
  /** What was found last, by key. */
  readonly #found = new Map<string, string>();

  constructor(options: VerdictWatchOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#task = new Task({
      clock,
      everyMs,
      run: () => quietly(() => this.#check()),
      failed: (error) =>
        outsideSpans(() => log.debug("the verdict was not told", { reason: messageOf(error) })),
    });
  }

  start(): void {
    if (this.#options.isFirst) this.#task.start();
  }

  close(): Promise<void> {
    return this.#task.close();
  }

  async #check(): Promise<void> {
    const { services, release } = this.#options.acquire();
    try {
      if (!services.hooks.wantsEvent("verdict.changed")) return;
      await this.#notify(services, services.serverUuid, await this.#ownVerdict(services));
      const certificates = await services.certificates.list();
      const shared = judgeShared({
        nodes: nodeFacts(await services.roster.view()),
        uncertified: certificates.flatMap(({ name, problem }) => (problem === null ? [] : [name])),
      });
      await this.#notify(services, sharedKey, shared);
    } finally {
      release();
    }
  }

  async #ownVerdict(services: Services): Promise<Verdict> {
    const now = services.clock.now();
    const [hour] = services.metrics.history({ since: now - recentMs });
    return judge({
      missing: await services.readiness.missing(),
      measured: measuredFacts(services.metrics.families, hour),
      certificate: services.certificateState(),
      backup: backupFact(services.backupState(), now),
      ...loggedFacts(services.ring.entries(), services.auditRing.entries(), now),
    });
  }

  async #notify({ database, hooks }: Services, key: string, { verdict, reasons }: Verdict): Promise<void> {
    const next = { verdict, codes: reasons.map(({ code }) => code).sort() };
    const text = JSON.stringify(next);
    const isSettled = this.#found.get(key) === text;
    this.#found.set(key, text);
    if (!isSettled) return;
    const node = key === sharedKey ? null : this.#options.name();
    await database.memory.turn(key, next, async (before, transaction) => {
      const isNew = next.codes.some((code) => !before.codes.includes(code));
      if (before.verdict === verdict && !isNew) return;
      const data = { node, verdict, was: before.verdict, reasons };
      await hooks.add(database, [{ type: "verdict.changed", data }], { transaction });
    });
    hooks.wake();
  }
}

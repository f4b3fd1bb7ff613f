import type { Subprocess } from "bun";
import { until } from "./until.ts";

/** EndedEarly says that a program ended before it was ready. */
class EndedEarly extends Error {}

interface Starting {
  readonly name: string;
  readonly child: Subprocess;
  /** The file with what it wrote. */
  readonly log: string;
  readonly isReady: () => Promise<unknown>;
}

/** Waits until a program is ready; `isReady` may fail until it is. */
export async function untilStarted({ name, child, log, isReady }: Starting): Promise<void> {
  try {
    await until(`${name} is ready`, async () => {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (hasEnded) throw new EndedEarly(`${name} ended: ${await Bun.file(log).text()}`);
      return isReady().then(
        (answer) => answer !== false,
        () => false,
      );
    });
  } catch (error) {
    child.kill("SIGKILL");
    await child.exited;
    throw error;
  }
}

/** Starts a program again if it ended at once: somebody else may have taken a port that was free when it was chosen. */
export async function startAgain<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof EndedEarly) || attempt === 3) throw error;
    }
}

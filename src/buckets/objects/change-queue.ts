import { AsyncLocalStorage } from "node:async_hooks";
import { outsideSpans } from "../../log/span.ts";

/** Changes that one transaction takes. */
const maxChanges = 64;

/** Change is work that waits for its turn in a transaction. Its promise is settled once the transaction has ended. */
export interface Change<W> {
  readonly run: (writer: W) => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * ChangeQueue collects the changes of one bucket while a transaction runs, and gives them to the next one together: a commit
 * waits for the disk, and so one commit serves all who came meanwhile.
 */
export class ChangeQueue<W> {
  readonly #commit: (changes: ReadonlyArray<Change<W>>) => Promise<void>;
  readonly #waiting: Array<Change<W>> = [];
  #isRunning = false;

  /** `commit` runs changes in one transaction and settles each of them. It does not reject. */
  constructor(commit: (changes: ReadonlyArray<Change<W>>) => Promise<void>) {
    this.#commit = commit;
  }

  run<T>(work: (writer: W) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // The transaction may be begun by another request: the log lines of this work are those of its own.
    const run = AsyncLocalStorage.bind(work);
    this.#waiting.push({ run, resolve: (result) => resolve(result as T), reject });
    if (!this.#isRunning) {
      this.#isRunning = true;
      outsideSpans(() => void this.#drain());
    }
    return promise;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, maxChanges));
    this.#isRunning = false;
  }
}

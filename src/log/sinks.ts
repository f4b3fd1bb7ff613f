import type { Filter } from "./filter.ts";
import type { LogHub } from "./hub.ts";
import { JsonFileSink } from "./json-file.ts";
import type { LogRing } from "./ring.ts";
import { openTerminal, TerminalSink } from "./terminal.ts";

export interface SinkSettings {
  readonly terminal: Filter;
  readonly file: { readonly path: string; readonly filter: Filter } | undefined;
  readonly memory: { readonly capacity: number; readonly filter: Filter };
}

/** The server's own sinks, replaced together while it runs. */
export class LogSinks {
  readonly #hub: LogHub;
  readonly #ring: LogRing;
  #detach: Array<() => void> = [];
  #file: JsonFileSink | undefined;
  readonly #terminal = openTerminal();

  constructor(hub: LogHub, ring: LogRing) {
    this.#hub = hub;
    this.#ring = ring;
  }

  /** Opens the file beside the present one. Exactly one of the two functions is to be called. */
  prepare({ terminal, file, memory }: SinkSettings): { commit(): void; discard(): void } {
    const next = file === undefined ? undefined : new JsonFileSink(file.path, file.filter);
    return {
      commit: () => {
        this.#detachAll();
        this.#file = next;
        this.#ring.resize(memory.capacity, memory.filter);
        const sinks = [
          new TerminalSink(terminal, this.#terminal),
          this.#ring,
          ...(next === undefined ? [] : [next]),
        ];
        this.#detach = sinks.map((sink) => this.#hub.attach(sink));
      },
      discard: () => next?.close(),
    };
  }

  /** For log rotation. */
  reopen(): void {
    this.#file?.reopen();
  }

  close(): void {
    this.#detachAll();
    this.#terminal.flush();
  }

  #detachAll(): void {
    for (const detach of this.#detach.splice(0)) detach();
    this.#file?.close();
    this.#file = undefined;
  }
}

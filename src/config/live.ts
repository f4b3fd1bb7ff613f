import { messageOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import { readConfigFile } from "./file.ts";
import { type ParsedConfig, parseConfig } from "./parse.ts";
import type { Config } from "./schema.ts";

/** A change that is ready but not in force: exactly one of the two is called. */
export interface Prepared {
  /** Must not fail: everything that can go wrong belongs into `prepare`. */
  commit(): void | Promise<void>;
  discard(): void | Promise<void>;
}

/** One service's share of the configuration. Start-up and reload are the same code. */
export interface Part<S = unknown> {
  readonly name: string;
  slice(config: Config): S;
  /** Opens what the slice asks for, beside what is in force. */
  prepare(slice: S): Promise<Prepared>;
  /** Called by a reload that leaves the slice as it is. */
  refresh?(): void;
  close(): void | Promise<void>;
}

/** A part that has nothing to open: its slice counts as soon as it is committed. `check` throws where it cannot. */
export function keptPart<S>(
  name: string,
  slice: (config: Config) => S,
  keep: (slice: S) => void,
  check?: (slice: S) => unknown,
): Part<S> {
  return {
    name,
    slice,
    async prepare(value) {
      check?.(value);
      return { commit: () => keep(value), discard() {} };
    },
    close() {},
  };
}

export type Outcome = "applied" | "unchanged" | "refused";

/** The configuration in force, and the only way to another one: all parts move, or none does. */
export class LiveConfig {
  #queue: Promise<unknown> = Promise.resolve();
  #closing = false;
  /** The parts in the order they were opened, each with the slice that is in force. */
  readonly #opened = new Map<Part, unknown>();

  private constructor(
    readonly path: string,
    private readonly log: Logger,
  ) {}

  /** Opens the parts in order; when one fails, those before it are closed again. */
  static async open(path: string, log: Logger, parts: readonly Part[]): Promise<LiveConfig> {
    const { config, unknown } = parseConfig(await readConfigFile(path));
    const live = new LiveConfig(path, log);
    try {
      for (const part of parts) {
        const slice = part.slice(config);
        const change = await part.prepare(slice);
        await change.commit();
        live.#opened.set(part, slice);
      }
    } catch (error) {
      await live.close();
      throw error;
    }
    live.#warn(unknown);
    return live;
  }

  /** Reads the file again. What cannot be applied leaves everything as it was and is told in the log. */
  reload(): Promise<Outcome> {
    const result = this.#queue.then(
      () => this.#reload(),
      () => this.#reload(),
    );
    this.#queue = result;
    return result;
  }

  /** Closes the parts, last opened first. From here on nothing is reloaded. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#queue;
    for (const part of [...this.#opened.keys()].reverse()) await part.close();
    this.#opened.clear();
  }

  async #reload(): Promise<Outcome> {
    if (this.#closing) return "refused";
    const ready: Array<{ part: Part; slice: unknown; change: Prepared }> = [];
    let parsed: ParsedConfig;
    try {
      parsed = parseConfig(await readConfigFile(this.path));
      for (const [part, old] of this.#opened) {
        const slice = part.slice(parsed.config);
        if (Bun.deepEquals(slice, old)) part.refresh?.();
        else ready.push({ part, slice, change: await part.prepare(slice) });
      }
    } catch (error) {
      for (const { change } of ready.reverse()) await change.discard();
      const why = messageOf(error);
      this.log.error(`configuration not reloaded, everything stays as it was: ${why}`, { path: this.path });
      return "refused";
    }
    for (const { part, slice, change } of ready) {
      await change.commit();
      this.#opened.set(part, slice);
    }
    this.#warn(parsed.unknown);
    const names = ready.map(({ part }) => part.name).join(", ");
    this.log.info(
      names === "" ? "configuration read again, nothing changed" : `configuration reloaded: ${names}`,
    );
    return names === "" ? "unchanged" : "applied";
  }

  #warn(unknown: readonly string[]): void {
    for (const key of unknown)
      this.log.warn(`configuration key ${key} is unknown and has no effect`, { key });
  }
}

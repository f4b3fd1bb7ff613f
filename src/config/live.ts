import { Fault, messageOf } from "../base/fault.ts";
import type { LogHub } from "../log/hub.ts";
import { type Inspect, loadConfig } from "./load.ts";
import type { ParsedConfig } from "./parse.ts";
import { ConfigFault, type Warning } from "./problem.ts";
import type { Config } from "./schema.ts";

/** Prepared is a change that is ready but not in force. Exactly one of its two functions is called, once. */
export interface Prepared {
  /** Must not fail: everything that can go wrong belongs into `prepare`. */
  commit(): void | Promise<void>;
  discard(): void | Promise<void>;
}

/** Part is one service's share of the configuration. Start-up and reload are the same code. */
export interface Part<S = unknown> {
  readonly name: string;
  slice(config: Config): S;
  /** Opens what the slice needs beside what is in force. Throws if it cannot; then nothing changes. */
  prepare(slice: S): Promise<Prepared>;
  /** Called by a reload in which the slice is unchanged. */
  refresh?(): void;
  close(): void | Promise<void>;
}

/** `settingPart` is a part that has nothing to open: its slice is applied when the reload commits. */
export function settingPart<S>(
  name: string,
  slice: (config: Config) => S,
  apply: (slice: S) => void,
): Part<S> {
  return {
    name,
    slice,
    async prepare(value) {
      return { commit: () => apply(value), discard() {} };
    },
    close() {},
  };
}

export type Outcome = "applied" | "unchanged" | "refused";

export interface LiveOptions {
  readonly path: string;
  readonly hub: LogHub;
  /** In the order in which they are opened. */
  readonly parts: readonly Part[];
  /** Runs before any part is opened, so that a start which must fail makes nothing. */
  readonly inspect?: Inspect;
}

/** A part with the slice that it has prepared for. */
interface ReadyPart {
  readonly part: Part;
  readonly slice: unknown;
  readonly change: Prepared;
}

const target = "server";

/** The configuration in force, and the only way to another one: all parts move, or none does. */
export class LiveConfig {
  readonly #options: LiveOptions;
  #config: Config;
  #queue: Promise<unknown> = Promise.resolve();
  #closing = false;
  /** The commit of a reload, while it runs. */
  #committing: Promise<void> | undefined;
  /** The parts in the order they were opened, each with the slice that is in force. */
  readonly #opened = new Map<Part, unknown>();

  private constructor(options: LiveOptions, config: Config) {
    this.#options = options;
    this.#config = config;
  }

  /** Opens the parts in order; when one fails, those before it are closed again. */
  static async open(options: LiveOptions): Promise<LiveConfig> {
    const { config, warnings } = await loadConfig(options.path, options.inspect);
    const live = new LiveConfig(options, config);
    try {
      for (const part of options.parts) {
        const slice = part.slice(config);
        const change = await part.prepare(slice);
        await change.commit();
        live.#opened.set(part, slice);
      }
    } catch (error) {
      await live.close();
      throw error;
    }
    live.#warn(warnings);
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

  /**
   * Closes the parts, last opened first. From here on nothing is reloaded. A reload that still prepares is not waited for (a
   * database that does not answer may take minutes); it discards what it has opened when it finds out.
   */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#committing;
    for (const part of [...this.#opened.keys()].reverse()) await part.close();
    this.#opened.clear();
  }

  async #reload(): Promise<Outcome> {
    if (this.#closing) return "refused";
    const { path, hub } = this.#options;
    const log = hub.logger(target);
    const ready: ReadyPart[] = [];
    let parsed: ParsedConfig;
    try {
      parsed = await loadConfig(path, (config) => this.#inspectChanges(config));
      for (const [part, old] of this.#opened) {
        const slice = part.slice(parsed.config);
        this.#refuseWhenClosing();
        if (Bun.deepEquals(slice, old)) part.refresh?.();
        else ready.push({ part, slice, change: await part.prepare(slice) });
      }
      this.#refuseWhenClosing();
    } catch (error) {
      for (const { change } of ready.reverse()) await change.discard();
      const why = error instanceof Fault ? error.detail.replaceAll("\n", "; ") : messageOf(error);
      if (this.#closing) log.event("config.abandoned", "a reload was given up because the server stops", {});
      else
        log.event("config.refused", `configuration not reloaded, everything stays as it was: ${why}`, {
          path,
          reason: why,
          problems: error instanceof ConfigFault ? error.problems : [],
        });
      return "refused";
    }
    this.#committing = this.#commit(ready);
    await this.#committing;
    this.#config = parsed.config;
    this.#warn(parsed.warnings);
    const names = ready.map(({ part }) => part.name);
    if (names.length === 0) {
      log.event("config.unchanged", "configuration read again, nothing changed", { path });
      return "unchanged";
    }
    log.event("config.applied", `configuration reloaded: ${names.join(", ")}`, { path, parts: names });
    return "applied";
  }

  #refuseWhenClosing(): void {
    if (this.#closing) throw new Fault("Other", "the server stops");
  }

  async #commit(ready: readonly ReadyPart[]): Promise<void> {
    for (const { part, slice, change } of ready) {
      await change.commit();
      this.#opened.set(part, slice);
    }
  }

  /** A reload leaves alone what did not change, so that a log rotation does not fail for the sake of an old problem. */
  async #inspectChanges(config: Config) {
    const findings = (await this.#options.inspect?.(config)) ?? [];
    return findings.filter(
      ({ path }) => !Bun.deepEquals(settingAt(config, path), settingAt(this.#config, path)),
    );
  }

  #warn(warnings: readonly Warning[]): void {
    const { hub } = this.#options;
    for (const { about, field, why, line, column } of warnings) {
      const message = `configuration key ${field} ${why}`;
      const fields = { key: field, why, line, column };
      const log = hub.logger(target);
      if (about === "filter") log.eventUnfiltered("config.warning", message, fields);
      else log.event("config.warning", message, fields);
    }
  }
}

function settingAt(config: Config, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], config);
}

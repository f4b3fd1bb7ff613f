// This folder reads, checks and reloads the configuration. schema.ts declares each key once, in the terms of
// base/config-key.ts; parse.ts reads a TOML text by them and notes unknown keys, which LiveConfig logs, with the
// overrides of environment.ts, the keys of earlier versions in retired-keys.ts and the absolute paths of paths.ts.
// locate.ts finds the position of a wrong value, problem.ts words what is wrong with it. The LiveConfig of this file
// loads the file and makes a reload one transaction of all parts of the server. config-file.ts checks and replaces the
// file for callers, and methods/node.ts reloads then, and replaces a URL in it for commands; default-config.ts writes
// the first one. server-uuid.ts keeps the server's UUID and the link key beside it.

import { Fault, messageOf } from "../base/fault.ts";
import { memberAt } from "../base/validation-issue.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { readConfigFile } from "./default-config.ts";
import { noOverrides, type OverriddenKey, type Overrides } from "./environment.ts";
import { type ParsedConfig, parseConfig } from "./parse.ts";
import type { RelativePath } from "./paths.ts";
import { ConfigFault, locateProblem, type Problem, Source, type Warning } from "./problem.ts";
import { type Config, settings } from "./schema.ts";

/** PreparedChange is a change that is ready but not in force. Exactly one of its two functions is called, once. */
export interface PreparedChange {
  /**
   * Puts the change in force and closes what it replaces. Must not throw, because parts that committed earlier are not rolled back:
   * everything that can fail belongs in `prepare`.
   */
  commit(): void | Promise<void>;
  discard(): void | Promise<void>;
}

/**
 * Part is one service's share of the configuration. Start-up and reload are the same code: `slice` selects the settings that the
 * part depends on, `prepare` opens what they need, and `commit` switches over.
 */
export interface Part<S = unknown> {
  readonly name: string;
  slice(config: Config): S;
  /**
   * Opens what the slice needs, beside what is in force. If it throws, a start fails; a reload discards what the parts before it
   * prepared, in reverse order, and everything stays as it was.
   */
  prepare(slice: S): Promise<PreparedChange>;
  close(): void | Promise<void>;
}

/** `settingPart` makes a part that has nothing to open: its slice is applied when the reload commits. */
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

interface LiveOptions {
  readonly path: string;
  readonly hub: LogHub;
  /** Runs before any part is prepared, so that a start that must fail creates nothing. */
  readonly inspect?: Inspect;
  /** Settings in place of those in the file. */
  readonly overrides?: Overrides;
  /** Returns what the parts of this process get of the configuration; by default all of it. */
  readonly share?: ((config: Config) => Config) | undefined;
}

/** ReadyPart is a part with the slice that it has prepared for. */
interface ReadyPart {
  readonly part: Part;
  readonly slice: unknown;
  readonly change: PreparedChange;
}

const target = "server";

/**
 * LiveConfig is the configuration in force, and the only way to change it. A reload is a transaction: it reads and checks the whole
 * file, lets every part whose slice changed prepare, and then commits all of them or discards all of them. Reloads run one after
 * the other, the first once the parts are open.
 */
export class LiveConfig {
  readonly #options: LiveOptions;
  /** The configuration in force; undefined until the parts are open. */
  #config: Config | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #closing = false;
  /** The commit of a reload, while it runs. */
  #committing: Promise<void> | undefined;
  /** The parts in the order they were opened, each with the slice that is in force. */
  readonly #opened = new Map<Part, unknown>();

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /**
   * Reads the configuration and opens the parts with it, in their order; they are closed in reverse. If one fails, those before it
   * are closed again, and the error is thrown. Returns what is in force, once.
   */
  open(parts: readonly Part[]): Promise<ParsedConfig> {
    const opened = this.#open(parts);
    this.#queue = opened;
    return opened;
  }

  async #open(parts: readonly Part[]): Promise<ParsedConfig> {
    const { path, inspect, overrides } = this.#options;
    const parsed = await loadConfig(path, inspect, overrides);
    try {
      for (const part of parts) {
        const slice = part.slice(this.#share(parsed.config));
        const change = await part.prepare(slice);
        await change.commit();
        this.#opened.set(part, slice);
      }
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#config = parsed.config;
    this.#warn(parsed.warnings);
    return parsed;
  }

  #share(config: Config): Config {
    return this.#options.share?.(config) ?? config;
  }

  /**
   * Reads the file again and applies it. If anything fails, everything stays as it was, and the reason is logged as
   * `config.refused`.
   */
  reload(): Promise<Outcome> {
    const result = this.#queue.then(
      () => this.#reload(),
      () => this.#reload(),
    );
    this.#queue = result;
    return result;
  }

  /**
   * Closes the parts, the last one first, and ends reloading. It does not wait for a reload that still prepares (a database that
   * does not answer may take minutes); that reload discards what it has opened once it returns.
   */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#committing;
    for (const part of [...this.#opened.keys()].reverse()) await part.close();
    this.#opened.clear();
  }

  async #reload(): Promise<Outcome> {
    const before = this.#config;
    if (this.#closing || before === undefined) return "refused";
    const { path, hub, overrides } = this.#options;
    const log = hub.logger(target);
    const ready: ReadyPart[] = [];
    let parsed: ParsedConfig;
    try {
      parsed = await loadConfig(
        path,
        (config, relative) => this.#inspectChanges(before, config, relative),
        overrides,
      );
      for (const [part, old] of this.#opened) {
        const slice = part.slice(this.#share(parsed.config));
        this.#refuseWhenClosing();
        if (!Bun.deepEquals(slice, old)) ready.push({ part, slice, change: await part.prepare(slice) });
      }
      this.#refuseWhenClosing();
    } catch (error) {
      for (const { change } of ready.reverse()) await change.discard();
      const why = error instanceof Fault ? error.detail.replaceAll("\n", "; ") : messageOf(error);
      if (this.#closing)
        log.event("config.abandoned", "a reload was abandoned because the server is stopping", {});
      else
        log.event("config.refused", `configuration not reloaded, the previous one stays in effect: ${why}`, {
          path,
          reason: why,
          kind: error instanceof Fault ? error.kind : undefined,
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
      log.event("config.unchanged", "configuration reloaded, nothing changed", { path });
      return "unchanged";
    }
    log.event("config.applied", "configuration reloaded", {
      path,
      parts: names,
      keys: changedKeys(before, parsed.config),
    });
    return "applied";
  }

  #refuseWhenClosing(): void {
    if (this.#closing) throw new Fault("Other", "the server is stopping");
  }

  async #commit(ready: readonly ReadyPart[]): Promise<void> {
    for (const { part, slice, change } of ready) {
      await change.commit();
      this.#opened.set(part, slice);
    }
  }

  /** Returns findings about changed settings only, so that no reload fails because of an old problem. */
  async #inspectChanges(before: Config, config: Config, relative: readonly RelativePath[]) {
    const findings = (await this.#options.inspect?.(config, relative)) ?? [];
    return findings.filter(({ path }) => !Bun.deepEquals(memberAt(config, path), memberAt(before, path)));
  }

  #warn(warnings: readonly Warning[]): void {
    const { hub } = this.#options;
    for (const { about, field, from, why, line, column } of warnings) {
      const message = `${from ?? `configuration key ${field}`} ${why}`;
      const fields = { key: field, why, line, column };
      const log = hub.logger(target);
      if (about === "filter") log.eventUnfiltered("config.warning", message, fields);
      else log.event("config.warning", message, fields);
    }
  }
}

function changedKeys(before: Config, after: Config): string[] {
  return settings
    .filter(({ path }) => !Bun.deepEquals(memberAt(before, path), memberAt(after, path)))
    .map(({ path }) => path.join("."));
}

/**
 * Finding is something that a key names and that cannot be used: a certificate that cannot be read, a folder that cannot be
 * written.
 */
export interface Finding {
  readonly path: readonly string[];
  readonly why: string;
  /** If true, it can be used, but the operator should know about it. */
  readonly isWarning?: true;
}

/** Inspect looks at what a configuration names, without changing anything. */
export type Inspect = (
  config: Config,
  relative: readonly RelativePath[],
) => readonly Finding[] | Promise<readonly Finding[]>;

/** `loadConfig` reads, parses and inspects a configuration file. Throws one ConfigFault with every problem and its position. */
export async function loadConfig(
  path: string,
  inspect?: Inspect,
  overrides = noOverrides,
): Promise<ParsedConfig> {
  const text = await readConfigFile(path);
  const parsed = parseConfig(text, path, overrides);
  const findings = (await inspect?.(parsed.config, parsed.relative)) ?? [];
  const source = new Source(text, path, parsed.overrides);
  const wrong = findings.filter(({ isWarning }) => !isWarning);
  if (wrong.length > 0) throw new ConfigFault(wrong.map((found) => locateFinding(source, found)));
  const odd = findings.map(
    (found): Warning => ({
      ...locateProblem(source, found.path, found.why),
      field: found.path.join("."),
      about: "access",
    }),
  );
  return { ...parsed, warnings: [...overrides.warnings, ...parsed.warnings, ...odd] };
}

/** `locateFinding` adds the position in the file. A finding about a default has none: the file does not contain the key. */
function locateFinding(source: Source, { path, why }: Finding): Problem {
  if (source.overrideOf(path) !== undefined || source.locate(path).value !== undefined)
    return locateProblem(source, path, why);
  const field = path.join(".");
  const problem = { field, why: `${why}; it is the default, because ${field} is not set` };
  return source.file === undefined ? problem : { ...problem, file: source.file };
}

/** `reportStart` logs what is remarkable about a start: settings from elsewhere, an edit that had been interrupted. */
export function reportStart(
  log: Logger,
  path: string,
  { overridden, finished }: { readonly overridden: readonly OverriddenKey[]; readonly finished: boolean },
): void {
  if (overridden.length > 0) {
    const from = overridden.map((override) => override.from);
    log.event("config.overridden", `settings from outside the configuration file: ${from.join(", ")}`, {
      keys: overridden.map(({ key }) => key),
      from,
    });
  }
  if (finished)
    log.event("config.recovered", "an interrupted edit of the configuration was completed", { path });
}

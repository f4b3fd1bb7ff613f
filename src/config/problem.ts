import { Fault } from "../base/fault.ts";
import { KeyIndex, type Location } from "./locate.ts";

/** Problem is one thing that is wrong with a configuration: the key, its position in the file, and what to write instead. */
export interface Problem {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The key with its table: `logging.log_filter`. */
  readonly field?: string;
  /** The environment variable or option that the value comes from; undefined for the file, which `file` names then. */
  readonly from?: string;
  /**
   * The reason, as the end of a sentence that begins with the key: `must be true or false`. Never the value itself, which may be a
   * password.
   */
  readonly why: string;
}

/** Warning is about a valid setting that probably does not do what was intended. */
export interface Warning extends Problem {
  readonly field: string;
  /**
   * `filter`: a log filter could hide this very warning, so it is logged past all filters. `access`: a file that more users can
   * read than should.
   */
  readonly about: "key" | "filter" | "access";
}

/** Override is a value that takes the place of the one in the file. */
export interface Override {
  /** The key, with its table. */
  readonly path: readonly string[];
  /** What sets it: `NODE_SERVER_WS_LISTENER` or `--listen`. */
  readonly from: string;
  /** As TOML would give it. Never shown, because it may be a secret. */
  readonly value: unknown;
}

/** Source is a configuration text, with the name of its file for messages, and what overrides it. */
export class Source {
  #keys: KeyIndex | undefined;

  constructor(
    readonly text: string,
    readonly file?: string,
    readonly overrides: readonly Override[] = [],
  ) {}

  /** Returns what sets the key at `path`, or at the beginning of it, in place of the text; undefined if nothing does. */
  overrideOf(path: readonly string[]): Override | undefined {
    return this.overrides.find((override) => override.path.every((name, at) => path[at] === name));
  }

  /** Returns the position of a key. The text must be valid TOML. */
  locate(path: readonly string[]): Location {
    this.#keys ??= new KeyIndex(this.text);
    return this.#keys.locate(path);
  }
}

/** `formatProblem` writes `config.toml:5:15: ws_listener: must be …`, as compilers do, or `NODE_SERVER_WS_LISTENER: must be …`. */
export function formatProblem({ file, line, column, field, from, why }: Problem): string {
  if (from !== undefined) return `${from}: ${why}`;
  const place = [file ?? (line === undefined ? undefined : "configuration"), line, column]
    .filter((part) => part !== undefined)
    .join(":");
  return [place, field, why].filter((part) => part !== undefined && part !== "").join(": ");
}

/** `locateProblem` makes a problem with the position of the value, or of the key if it has no value, or with what overrides it. */
export function locateProblem(source: Source, path: readonly string[], why: string): Problem {
  const override = source.overrideOf(path);
  if (override !== undefined) return { field: path.join("."), from: override.from, why };
  const { key, value } = source.locate(path);
  return at(source, value ?? key, { field: path.join("."), why });
}

/** `locateKey` makes a problem with the position of the key, for a key that should not exist. */
export function locateKey(source: Source, path: readonly string[], why: string): Problem {
  return at(source, source.locate(path).key, { field: path.join("."), why });
}

function at({ file }: Source, position: { line: number; column: number }, problem: Problem): Problem {
  return { ...(file === undefined ? {} : { file }), ...position, ...problem };
}

/**
 * ConfigFault is the error for an invalid configuration, with one line for each problem; `data` also has `line`, `column` and
 * `field` of the first.
 */
export class ConfigFault extends Fault {
  constructor(readonly problems: readonly Problem[]) {
    const [{ line, column, field } = {}] = problems;
    super("ParseError", problems.map(formatProblem).join("\n"), { line, column, field, problems });
  }
}

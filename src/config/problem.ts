import { Fault } from "../base/fault.ts";
import { KeyIndex, type Location } from "./locate.ts";

/** One thing that is wrong with a configuration: which key, where it is in the file, and what to write instead. */
export interface Problem {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The key with its table: `logging.log_filter`. */
  readonly field?: string;
  /** Continues a sentence that begins with the key: `must be true or false`. Never the value itself, which may be a password. */
  readonly why: string;
}

/** A valid setting that will probably not do what was meant. */
export interface Warning extends Problem {
  readonly field: string;
  /**
   * `filter`: a log filter could silence this very warning, so it is shown whatever the filters say. `access`: a file that more
   * users can read than should.
   */
  readonly about: "key" | "filter" | "access";
}

/** Source is a configuration text and how messages name the file that it came from. */
export class Source {
  #keys: KeyIndex | undefined;

  constructor(
    readonly text: string,
    readonly file?: string,
  ) {}

  /** Where its keys are. The text must be valid TOML. */
  locate(path: readonly string[]): Location {
    this.#keys ??= new KeyIndex(this.text);
    return this.#keys.locate(path);
  }
}

/** `config.toml:5:15: ws_listener: must be …`, as compilers write it. */
export function formatProblem({ file, line, column, field, why }: Problem): string {
  const place = [file ?? (line === undefined ? undefined : "configuration"), line, column]
    .filter((part) => part !== undefined)
    .join(":");
  return [place, field, why].filter((part) => part !== undefined && part !== "").join(": ");
}

/** Adds the position of the key, or of its value where there is one. */
export function locateProblem(source: Source, path: readonly string[], why: string): Problem {
  const { key, value } = source.locate(path);
  return at(source, value ?? key, { field: path.join("."), why });
}

/** The same for a key that should not be there: its value does not matter. */
export function locateKey(source: Source, path: readonly string[], why: string): Problem {
  return at(source, source.locate(path).key, { field: path.join("."), why });
}

function at({ file }: Source, position: { line: number; column: number }, problem: Problem): Problem {
  return { ...(file === undefined ? {} : { file }), ...position, ...problem };
}

/** ConfigFault has one line for each problem; `line`, `column` and `field` of the first one stand at the top of `data`. */
export class ConfigFault extends Fault {
  constructor(readonly problems: readonly Problem[]) {
    const [{ line, column, field } = {}] = problems;
    super("ParseError", problems.map(formatProblem).join("\n"), { line, column, field, problems });
  }
}

import { readConfigFile } from "./default-config.ts";
import { noOverrides } from "./environment.ts";
import { type ParsedConfig, parseConfig } from "./parse.ts";
import type { RelativePath } from "./paths.ts";
import { ConfigFault, locateProblem, type Problem, Source, type Warning } from "./problem.ts";
import type { Config } from "./schema.ts";

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

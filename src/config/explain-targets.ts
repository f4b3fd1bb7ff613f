import { nearest } from "../base/nearest.ts";
import { contractTargets, type Filter, filterNames } from "../log/filter.ts";

/**
 * `explainTargets` says what is suspicious about a filter, as the end of a sentence that begins with its key; undefined if nothing
 * is.
 */
export function explainTargets(filter: Filter): string | undefined {
  const [target] = filter.unknownTargets();
  if (target === undefined) return undefined;
  const [near] = nearest(target, filterNames, 1);
  const hint =
    near === undefined
      ? `use a level such as \`info\`, or one of the targets ${contractTargets.join(", ")}`
      : `did you mean \`${near}\`?`;
  return `names the target \`${target}\`, under which nothing is logged; ${hint}`;
}

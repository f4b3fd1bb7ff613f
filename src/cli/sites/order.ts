const pages = /\.(html?|xhtml)$/i;
const code = /\.(css|m?js|cjs|json|map)$/i;
const overviews = /(^|\/)index\.(html?|xhtml)$|\.(xml|rss|atom|webmanifest)$/i;
const entrances = /^index\.(html?|xhtml)$|(^|\/)(sw|service-worker)\.js$/i;

/** The phase of a file: assets; styles and scripts, which refer to them; pages; overviews of pages; the front page and service workers. */
function phaseOf(path: string): number {
  if (entrances.test(path)) return 4;
  if (overviews.test(path)) return 3;
  if (pages.test(path)) return 2;
  return code.test(path) ? 1 : 0;
}

/**
 * Groups files into phases, each of which must be complete before the next begins, so that a visitor who is shown a page
 * finds what it refers to. Within a phase the deepest files come first.
 */
export function inPhases<T extends { readonly path: string }>(files: readonly T[]): T[][] {
  const phases: T[][] = [[], [], [], [], []];
  for (const file of files) phases[phaseOf(file.path)]?.push(file);
  const depth = ({ path }: T) => path.split("/").length;
  return phases.filter((phase) => phase.length > 0).map((phase) => phase.sort((a, b) => depth(b) - depth(a)));
}

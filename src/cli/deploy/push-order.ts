const pages = /\.(html?|xhtml)$/i;
const code = /\.(css|m?js|cjs|json|map)$/i;
const overviews = /(^|\/)index\.(html?|xhtml)$|\.(xml|rss|atom|webmanifest)$/i;
const entrances = /^index\.(html?|xhtml)$|(^|\/)(sw|service-worker)\.js$/i;

/**
 * In which turn a file goes up, so that whoever is shown a page finds what it refers to: images, fonts and the like;
 * styles and scripts, which refer to those; pages; overviews of pages; the front page, and workers that fetch all the rest.
 */
export function turnOf(path: string): number {
  if (entrances.test(path)) return 4;
  if (overviews.test(path)) return 3;
  if (pages.test(path)) return 2;
  return code.test(path) ? 1 : 0;
}

/** Groups in the order of their turns; each is to be complete before the next begins. Within one, the deepest go first. */
export function inTurns<T extends { readonly path: string }>(files: readonly T[]): T[][] {
  const turns: T[][] = [[], [], [], [], []];
  for (const file of files) turns[turnOf(file.path)]?.push(file);
  const depth = ({ path }: T) => path.split("/").length;
  return turns.filter((turn) => turn.length > 0).map((turn) => turn.sort((a, b) => depth(b) - depth(a)));
}

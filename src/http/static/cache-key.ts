/**
 * cacheKey returns the key under which the response for a file is cached. All spellings of a path (`%61bc.js`) have one key, so that
 * nobody can have a file compressed and cached once for each. `base` is the part of the path above the bucket's files, as sent;
 * `decoded` is the rest, decoded. A path without `%` is its own key. Two kinds of names would collide with such a path and are
 * marked with NUL, which no path contains: a decoded name that contains `%`, and a file `node/static/…` of the root bucket.
 */
export function cacheKey(base: string, decoded: string): string {
  if (base === "/" && decoded.startsWith("node/")) return `\0root\0${decoded}`;
  return decoded.includes("%") ? `\0${base}${decoded}` : base + decoded;
}

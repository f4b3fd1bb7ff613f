/**
 * The address that the answer for a file is kept in memory under: one for all spellings of a path (`%61bc.js`), so that nobody
 * can have a file compressed and kept once for each. `base` is the part of the path above the bucket's files, as it was sent;
 * `decoded` is the rest, decoded. A plain path is its own address. Two kinds would not be unique, and are told apart by NUL,
 * which no path holds: a decoded name with a `%` in it, which reads like an encoded path, and a file `node/static/…` of the root
 * bucket, which reads like the route of that name.
 */
export function hotAddress(base: string, decoded: string): string {
  if (base === "/" && decoded.startsWith("node/")) return `\0root\0${decoded}`;
  return decoded.includes("%") ? `\0${base}${decoded}` : base + decoded;
}

/** Types whose address a build tool changes with their content. Pages, data and documents keep theirs. */
const types =
  /\.(?:js|mjs|css|wasm|map|woff2?|ttf|otf|eot|png|jpe?g|gif|webp|avif|svg|ico|mp4|webm|mp3|m4a|ogg|oga|ogv|opus|wav|flac)$/i;
/** Endings that build tools put between the hash and the type: `main.1e989742.min.css`, `2.ce53a5c5.chunk.js.map`. */
const inner = /\.(?:min|chunk|bundle|module|lean|js|mjs|css)$/i;

/** Where SvelteKit writes files that never change, whose names may be hashes alone. */
const immutableFolder = /(?:^|\/)_app\/immutable\//;

/**
 * isFingerprinted returns whether the name of a file contains a hash of its content, as build tools write it, so that its content
 * never changes. A name that only looks so would be shown old for a year: therefore words with a number (`version2`,
 * `2024report`) are none, and a hash that happens to look like one is not recognised, which costs its readers a request.
 */
export function isFingerprinted(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  // Names of files have 255 bytes at most; whatever is longer is not looked at.
  if (name.length > 255 || !types.test(name)) return false;
  if (immutableFolder.test(path)) return true;
  let stem = name.replace(types, "");
  while (inner.test(stem)) stem = stem.replace(inner, "");
  const hash = /[.\-_]([0-9A-Za-z]+)$/.exec(stem)?.[1] ?? (/^[0-9a-f]{16,}$/.test(stem) ? stem : "");
  if (isHexHash(hash) || isBase32Hash(hash)) return true;
  // These hashes have 8 characters, which may be hyphens and underscores too.
  return /[.-]/.test(stem.slice(-9, -8)) && isBase64Hash(stem.slice(-8));
}

/** A word with a number before or behind it, or either alone. */
const plain = /^(?:[A-Za-z]+\d*|\d+[A-Za-z]*)$/;

function isHexHash(text: string): boolean {
  return /^(?:[0-9a-f]{8,128}|[0-9A-F]{8,128})$/.test(text) && !plain.test(text);
}

/** As esbuild and Angular write it. */
function isBase32Hash(text: string): boolean {
  return /^[A-Z2-7]{8}$/.test(text) && !plain.test(text);
}

/** A word as it is written in a name: `photo`, `DarkMode`, `iPhone15`, `USAToday`, `QueryAPI`. */
const word = /^[a-z]*(?:(?:[A-Z][a-z]+)*[A-Z]*|[A-Z]{2,}[a-z]{2,}(?:[A-Z][a-z]+)*)\d*$/;

/** As Rollup, Vite, VitePress and Astro write it: large and small letters, mixed as no word mixes them. */
function isBase64Hash(text: string): boolean {
  if (!/^[\w-]{8}$/.test(text) || !/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  return !text.split(/[-_]/).every((part) => part !== "" && word.test(part));
}

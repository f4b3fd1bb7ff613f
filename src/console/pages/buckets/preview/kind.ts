import { nameOf } from "../path.ts";

/** How a file is shown, as far as its name tells. Unknown ones are looked into. */
export type Kind =
  | { readonly as: "image"; readonly type: string }
  | { readonly as: "text"; readonly language: string }
  | { readonly as: "binary" | "unknown" };

const images: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
  svg: "image/svg+xml",
};

/** The language of the editor for each ending. */
const texts: Readonly<Record<string, string>> = {
  ...named("javascript", "js mjs cjs jsx"),
  ...named("typescript", "ts mts cts tsx"),
  ...named("json", "json map webmanifest jsonc"),
  ...named("css", "css scss less"),
  ...named("html", "html htm vue svelte"),
  ...named("xml", "xml rss atom xsl"),
  ...named("yaml", "yaml yml"),
  ...named("toml", "toml"),
  ...named("shell", "sh bash zsh"),
  ...named("python", "py"),
  ...named("sql", "sql"),
  ...named("", "txt md csv tsv log ini conf cfg env gitignore htaccess srt vtt tex rs go c h java rb php"),
};

const binaries = new Set(
  "zip gz tgz xz bz2 zst 7z rar tar jar exe dll so bin iso dmg deb rpm pdf woff woff2 ttf otf eot mp3 ogg wav flac m4a mp4 webm mov mkv avi wasm db sqlite psd tif tiff heic doc docx xls xlsx ppt pptx odt ods class pyc".split(
    " ",
  ),
);

export function kindOf(path: string): Kind {
  const name = nameOf(path).toLowerCase();
  const ending = name.slice(name.lastIndexOf(".") + 1);
  const type = own(images, ending);
  if (type !== undefined) return { as: "image", type };
  const language = own(texts, ending);
  if (language !== undefined) return { as: "text", language };
  return { as: binaries.has(ending) ? "binary" : "unknown" };
}

function named(language: string, endings: string): Record<string, string> {
  return Object.fromEntries(endings.split(" ").map((ending) => [ending, language]));
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

import { nameOf } from "../path.ts";

/** View for a file, chosen by its name. For `unknown` the content decides. */
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

/** Editor language by extension. */
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

/** Decoded text file, with what is needed to encode it in the same way. */
export interface TextFile {
  /** Text with `\n` as its only line ending. */
  readonly text: string;
  readonly lineEnd: "\n" | "\r\n";
  /** Whether the file starts with a byte order mark. */
  readonly mark: boolean;
  /** Whether line endings differ, so that saving changes some of them. */
  readonly mixed: boolean;
}

/** Decodes UTF-8 text. Undefined for other content, which an editor would damage. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  if (whole.includes("\0")) return undefined;
  const mark = whole.startsWith("\uFEFF");
  const body = mark ? whole.slice(1) : whole;
  const ends = new Set(body.match(/\r\n|\r|\n/g) ?? []);
  return {
    text: body.replace(/\r\n?/g, "\n"),
    lineEnd: ends.has("\r\n") && !ends.has("\n") ? "\r\n" : "\n",
    mark,
    mixed: ends.size > 1 || ends.has("\r"),
  };
}

/** Encodes a text with the line endings and byte order mark of a file. */
export function encodeText(text: string, { lineEnd, mark }: Pick<TextFile, "lineEnd" | "mark">): string {
  return (mark ? "\uFEFF" : "") + (lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd));
}

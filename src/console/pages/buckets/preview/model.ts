import { nameOf } from "../path.ts";

/** View for a file, chosen by its name. For `unknown` the content decides. */
export type Kind =
  | { readonly as: "image" | "audio" | "video" | "pdf"; readonly type: string }
  | { readonly as: "text" | "markdown" | "table"; readonly language: string }
  | { readonly as: "archive" | "binary" | "unknown" };

const media: Readonly<Record<string, Kind>> = {
  ...types("image", {
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    bmp: "image/bmp",
    ico: "image/x-icon",
    svg: "image/svg+xml",
  }),
  ...types("audio", {
    mp3: "audio/mpeg",
    ogg: "audio/ogg",
    oga: "audio/ogg",
    opus: "audio/ogg",
    wav: "audio/wav",
    flac: "audio/flac",
    m4a: "audio/mp4",
    aac: "audio/aac",
    weba: "audio/webm",
  }),
  ...types("video", {
    mp4: "video/mp4",
    m4v: "video/mp4",
    webm: "video/webm",
    ogv: "video/ogg",
    mov: "video/quicktime",
    mkv: "video/x-matroska",
  }),
  ...types("pdf", { pdf: "application/pdf" }),
};

/** Extensions by editor language (see `editor/languages.ts`). */
const languages: Readonly<Record<string, string>> = {
  javascript: "js mjs cjs jsx",
  typescript: "ts mts cts tsx",
  json: "json map webmanifest jsonc geojson",
  css: "css",
  scss: "scss",
  less: "less",
  html: "html htm vue svelte",
  xml: "xml rss atom xsl xhtml plist",
  yaml: "yaml yml",
  toml: "toml",
  shell: "sh bash zsh fish",
  python: "py pyi",
  sql: "sql",
  go: "go",
  rust: "rs",
  c: "c h",
  cpp: "cpp cc cxx hpp hh ino",
  java: "java",
  kotlin: "kt kts",
  csharp: "cs",
  scala: "scala sc",
  dart: "dart",
  php: "php",
  ruby: "rb gemspec",
  swift: "swift",
  lua: "lua",
  perl: "pl pm",
  r: "r",
  julia: "jl",
  haskell: "hs",
  clojure: "clj cljs edn",
  erlang: "erl hrl",
  groovy: "groovy gradle",
  powershell: "ps1 psm1",
  protobuf: "proto",
  diff: "diff patch",
  properties: "ini properties cfg env conf",
  tex: "tex sty bib",
  "": "txt log gitignore htaccess srt vtt zig",
};

/** Editor language by whole name, for files without an extension. */
const names: Readonly<Record<string, string>> = {
  dockerfile: "dockerfile",
  "nginx.conf": "nginx",
  makefile: "",
  license: "",
  readme: "",
  _headers: "",
  _redirects: "",
};

const texts = byExtension(languages);
const archives = new Set("zip gz tgz xz bz2 zst 7z rar tar jar iso dmg deb rpm".split(" "));
const binaries = new Set(
  "exe dll so bin woff woff2 ttf otf eot avi wasm db sqlite psd tif tiff heic doc docx xls xlsx ppt pptx odt ods class pyc".split(
    " ",
  ),
);

export function kindOf(path: string): Kind {
  const name = nameOf(path).toLowerCase();
  const ending = name.slice(name.lastIndexOf(".") + 1);
  const whole = own(names, name);
  if (whole !== undefined) return { as: "text", language: whole };
  const known = own(media, ending);
  if (known !== undefined) return known;
  if (ending === "md" || ending === "markdown") return { as: "markdown", language: "" };
  if (ending === "csv" || ending === "tsv") return { as: "table", language: "" };
  const language = own(texts, ending);
  if (language !== undefined) return { as: "text", language };
  if (archives.has(ending)) return { as: "archive" };
  return { as: binaries.has(ending) ? "binary" : "unknown" };
}

function types(
  as: "image" | "audio" | "video" | "pdf",
  table: Readonly<Record<string, string>>,
): Record<string, Kind> {
  return Object.fromEntries(Object.entries(table).map(([ending, type]) => [ending, { as, type }]));
}

function byExtension(table: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([language, endings]) =>
      endings.split(" ").map((ending) => [ending, language]),
    ),
  );
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** Decoded text file, with what is needed to encode it in the same way. */
export interface TextFile {
  /** Text with `\n` as its only line ending. */
  readonly text: string;
  readonly lineEnd: "\n" | "\r\n";
  /** Whether the file starts with a byte order mark. */
  readonly mark: boolean;
  /** Whether line endings differ, so that saving changes some of them. */
  readonly mixed: boolean;
  /** Only UTF-8 can be saved. */
  readonly encoding: Encoding;
}

interface DecodeOptions {
  /** The bytes are the beginning of a longer file: a character that is cut at the end is left out. */
  readonly isPart?: boolean;
}

/** Control characters that no text contains. */
const notText = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Decodes UTF-8 text, UTF-16 with a byte order mark, and else Latin-1 (as browsers do, by its superset windows-1252). Undefined for content
 * that is not text.
 */
export function decodeText(bytes: Uint8Array, { isPart = false }: DecodeOptions = {}): TextFile | undefined {
  const encoding = encodingOf(bytes, isPart);
  const whole = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes, { stream: isPart });
  if (encoding === "utf-8" ? whole.includes("\0") : notText.test(whole)) return undefined;
  const mark = whole.startsWith("\uFEFF");
  const body = mark ? whole.slice(1) : whole;
  const ends = new Set(body.match(/\r\n|\r|\n/g) ?? []);
  return {
    text: body.replace(/\r\n?/g, "\n"),
    lineEnd: ends.has("\r\n") && !ends.has("\n") ? "\r\n" : "\n",
    mark,
    mixed: ends.size > 1 || ends.has("\r"),
    encoding,
  };
}

function encodingOf(bytes: Uint8Array, isPart: boolean): Encoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isPart });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

/** Encodes a text with the line endings and byte order mark of a UTF-8 file. */
export function encodeText(text: string, { lineEnd, mark }: Pick<TextFile, "lineEnd" | "mark">): string {
  return (mark ? "\uFEFF" : "") + (lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd));
}

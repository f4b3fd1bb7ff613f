import mime from "mime";

/** Types outside `text/` that are text all the same. */
const textual =
  /^(?:text\/.+|application\/(?:javascript|json|manifest\+json|xml|x-ndjson|toml|yaml|.+\+(?:json|xml))|image\/svg\+xml)$/;
const compressible =
  /^(?:application\/(?:wasm|x-tar|vnd\.ms-fontobject)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))$/;

interface MediaType {
  /** The value of the Content-Type header. */
  readonly value: string;
  readonly compressible: boolean;
}

const unknownType: MediaType = { value: "application/octet-stream", compressible: false };
/** By extension, for those that have a type, as they were met: the number of them is that of the library's table. */
const knownTypes = new Map<string, MediaType>();

/** mediaTypeOf derives the media type from the name's extension; `application/octet-stream` if that is unknown. */
export function mediaTypeOf(name: string): MediaType {
  const dot = name.lastIndexOf(".");
  if (dot === -1) return unknownType;
  const extension = name.slice(dot + 1);
  const known = knownTypes.get(extension);
  if (known !== undefined) return known;
  const type = mime.getType(extension);
  if (type === null) return unknownType;
  const isText = textual.test(type);
  const found = {
    value: isText ? `${type}; charset=utf-8` : type,
    compressible: isText || compressible.test(type),
  };
  // Other spellings (`.HTML`) are not kept: there are very many of them.
  if (extension === extension.toLowerCase()) knownTypes.set(extension, found);
  return found;
}

/** Types that a browser would run. */
const active = /^(?:text\/html|application\/xhtml|image\/svg|text\/(?:xsl|rdf)|[^/]+\/(?:[^;]+\+)?xml)/;

/** Types that a page can use as code. */
const code = /script|^text\/css|^application\/(?:wasm|x-shockwave)|^multipart\/|^message\//;
const unknown = /^(?:application|binary)\/octet-stream$/;

/**
 * givenType returns the type to send of a file whose uploader named one: that of its name if the uploader knew no better, or if a browser
 * would run the file by the named one.
 */
export function givenType(given: string, ofName: string): string {
  const essence = essenceOf(given);
  if (given.includes(",") || unknown.test(essence) || essence === essenceOf(ofName)) return ofName;
  return active.test(essence) || code.test(essence) ? ofName : given;
}

function essenceOf(type: string): string {
  return (type.split(";", 1)[0] ?? "").trim().toLowerCase();
}

type Headers = Readonly<Record<string, string>>;

/**
 * sandboxed adds a sandbox to the headers of content that a browser would run: HTML, SVG, XML. It is for addresses where a page
 * of a bucket must not run in the server's origin.
 */
export function sandboxed(headers: Headers): Headers {
  // A browser takes the last of several types.
  const types = (headers["content-type"] ?? "").toLowerCase().split(",");
  return types.some((type) => active.test(type.trim())) ? inSandbox(headers) : headers;
}

/**
 * inSandbox adds a sandbox whatever the content is: a client can have given it any type. Of PDF alone it is left out: browsers show it in
 * a viewer with an origin of its own, and refuse to in a sandbox.
 */
export function inSandbox(headers: Headers): Headers {
  if (/^application\/pdf(?:;[^,]*)?$/i.test(headers["content-type"] ?? "")) return headers;
  const own = headers["content-security-policy"];
  // Two policies in one header are both enforced.
  return { ...headers, "content-security-policy": own === undefined ? "sandbox" : `sandbox, ${own}` };
}

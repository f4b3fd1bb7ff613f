import mime from "mime";

/** Types outside `text/` that are text all the same. */
const textual =
  /^(?:text\/.+|application\/(?:javascript|json|manifest\+json|xml|x-ndjson|toml|yaml|.+\+(?:json|xml))|image\/svg\+xml)$/;
const compressible =
  /^(?:application\/(?:wasm|x-tar|vnd\.ms-fontobject)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))$/;

export interface MediaType {
  /** The value of the Content-Type header. */
  readonly value: string;
  readonly compressible: boolean;
}

/** mediaTypeOf derives the media type from the name's extension; `application/octet-stream` if that is unknown. */
export function mediaTypeOf(name: string): MediaType {
  const dot = name.lastIndexOf(".");
  const type = (dot === -1 ? null : mime.getType(name.slice(dot + 1))) ?? "application/octet-stream";
  const isText = textual.test(type);
  return {
    value: isText ? `${type}; charset=utf-8` : type,
    compressible: isText || compressible.test(type),
  };
}

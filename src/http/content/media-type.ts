import mime from "mime";

/** Types outside `text/` that are text all the same. */
const textual =
  /^(?:text\/.+|application\/(?:javascript|json|manifest\+json|xml|x-ndjson|toml|yaml|.+\+(?:json|xml))|image\/svg\+xml)$/;
const compressible =
  /^(?:application\/(?:wasm|x-tar|vnd\.ms-fontobject)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))$/;

export interface MediaType {
  /** As the header says it. */
  readonly value: string;
  readonly compressible: boolean;
}

const known = new Map<string, MediaType>();

/** By the name's ending; what is unknown is bytes. */
export function mediaTypeOf(name: string): MediaType {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  let found = known.get(ending);
  if (found === undefined) {
    const type = (name.includes(".") ? mime.getType(ending) : null) ?? "application/octet-stream";
    const isText = textual.test(type);
    found = {
      value: isText ? `${type}; charset=utf-8` : type,
      compressible: isText || compressible.test(type),
    };
    if (known.size < 2000) known.set(ending, found);
  }
  return found;
}

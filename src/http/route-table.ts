/** Route is one address, or all that begin with a prefix. */
export interface Route<Handler> {
  /** A whole path; with `*` at its end, every path that begins so. */
  readonly path: string;
  /** By HTTP method. Another method is answered with 405 and the names of these as `Allow`. */
  readonly methods?: Readonly<Record<string, Handler>>;
  /** Answers every method, where the methods depend on what is at the path. */
  readonly serve?: Handler;
  /** Answers the handshake of a WebSocket; without it the handshake is refused. */
  readonly socket?: Handler;
}

/** RouteTable finds the most specific route: the path itself, else the longest prefix. */
export class RouteTable<Handler> {
  readonly #exact: ReadonlyMap<string, Route<Handler>>;
  readonly #prefixes: ReadonlyArray<readonly [prefix: string, route: Route<Handler>]>;

  constructor(rows: ReadonlyArray<Route<Handler>>) {
    this.#exact = new Map(rows.filter(({ path }) => !path.endsWith("*")).map((row) => [row.path, row]));
    this.#prefixes = rows
      .filter(({ path }) => path.endsWith("*"))
      .map((row) => [row.path.slice(0, -1), row] as const)
      .sort(([a], [b]) => b.length - a.length);
  }

  find(path: string): Route<Handler> | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    for (const [prefix, route] of this.#prefixes) if (path.startsWith(prefix)) return route;
    return undefined;
  }
}

/** handlerOf returns what answers a method; undefined if the route does not have it. */
export function handlerOf<Handler>(
  { serve, methods = {} }: Route<Handler>,
  method: string,
): Handler | undefined {
  return serve ?? (Object.hasOwn(methods, method) ? methods[method] : undefined);
}

export function methodsOf({ methods = {} }: Route<unknown>): readonly string[] {
  return Object.keys(methods);
}

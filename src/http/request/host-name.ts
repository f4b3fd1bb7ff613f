/**
 * hostNameOf returns the host name that a request was sent to, as the server sees it: in lower case, without port; empty without
 * a Host header.
 */
export function hostNameOf({ headers }: Request): string {
  const host = headers.get("host") ?? "";
  const colon = host.indexOf(":");
  const name = (colon === -1 ? host : host.slice(0, colon)).toLowerCase();
  // A name with a dot at its end is the same name, absolute.
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

export interface ServerNameSettings {
  /** Empty if the server answers at every name that belongs to no bucket. */
  readonly names: readonly string[];
  /** For how many days browsers use https alone at these names. */
  readonly hstsDays: number | undefined;
}

/**
 * ServerNames are the names at which the server itself answers, with its console and JSON-RPC. It answers at addresses, too: no page
 * of a bucket with a host name has such an origin.
 */
export class ServerNames {
  #names: readonly string[] = [];
  #hsts: string | undefined;

  apply({ names, hstsDays }: ServerNameSettings): void {
    this.#names = names;
    this.#hsts = hstsDays === undefined ? undefined : `max-age=${hstsDays * 24 * 60 * 60}`;
  }

  /** The `Strict-Transport-Security` of an answer; undefined over plain http, at an address and at a bucket's host name (RFC 6797). */
  hstsFor(request: Request): string | undefined {
    if (this.#hsts === undefined || !request.url.startsWith("https:")) return undefined;
    return this.has(hostNameOf(request)) ? this.#hsts : undefined;
  }

  has(host: string): boolean {
    return this.#names.includes(host);
  }

  /** Whether names are configured. Otherwise the server answers at every name that belongs to no bucket. */
  get areConfigured(): boolean {
    return this.#names.length > 0;
  }

  /** Whether a host name, as `hostNameOf` returns it, is one of the names, or an address; true for all while no name is configured. */
  include(host: string): boolean {
    return !this.areConfigured || this.has(host) || isLocalOrAddress(host);
  }
}

/** A request without a Host header (HTTP/1.0) names no other place. Of an IPv6 address, `hostNameOf` returns the beginning. */
function isLocalOrAddress(host: string): boolean {
  return /^(?:|\[.*|\d+(?:\.\d+){3}|(?:.+\.)?localhost)$/.test(host);
}

/** S3Settings are where and to whom the server speaks S3. */
export interface S3Settings {
  /** The host name that is for S3 on every listener. */
  readonly host: string | undefined;
  /** The address of the listener for S3 alone, as it is configured. */
  readonly listener: string | undefined;
  /** Whether files of public buckets can be read without a signature. */
  readonly anonymous: boolean;
}

/** isForS3 returns whether a request was sent to the host name of S3, or to that of a bucket below it. */
export function isForS3(request: Request, settings: S3Settings): boolean {
  return settings.host !== undefined && isS3Host(hostNameOf(request), settings);
}

/** isS3Host returns whether a host name, in lower case, is that of S3, or that of a bucket below it. */
export function isS3Host(name: string, { host }: Pick<S3Settings, "host">): boolean {
  return host !== undefined && (name === host || name.endsWith(`.${host}`));
}

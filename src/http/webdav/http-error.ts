/** A request that WebDAV has a status for. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly status: number,
    /** What was wrong and what to do. */
    readonly detail: string,
    /** The condition of RFC 4918 §16 that failed, as the inside of an `error` element. */
    readonly condition?: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

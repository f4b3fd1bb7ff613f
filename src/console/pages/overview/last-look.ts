/** How much each table took at some time. */
export interface Look {
  readonly at: number;
  readonly total: number;
  readonly tables: Readonly<Record<string, number>>;
}

/** What is kept of the looks before. */
export interface Looks {
  /** What a new look is compared with. */
  readonly base?: Look;
  readonly latest: Look;
}

/** Looks that follow each other sooner belong to one sitting, and are compared with the last one before it. */
const sittingMs = 30 * 60_000;

export function afterLook(kept: Looks | undefined, now: Look): Looks {
  if (kept === undefined) return { latest: now };
  const { base = kept.latest, latest } = kept;
  return { base: now.at - latest.at > sittingMs ? latest : base, latest: now };
}

/** Undefined when it is not what was kept: other pages of the origin can write there too. */
export function parseLooks(text: string | undefined): Looks | undefined {
  try {
    const kept: unknown = JSON.parse(text ?? "null");
    return isLooks(kept) ? kept : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isLooks(value: unknown): value is Looks {
  if (typeof value !== "object" || value === null || !("latest" in value) || !isLook(value.latest))
    return false;
  return !("base" in value) || isLook(value.base);
}

function isLook(value: unknown): value is Look {
  if (typeof value !== "object" || value === null) return false;
  const { at, total, tables } = value as Partial<Record<keyof Look, unknown>>;
  if (typeof at !== "number" || Number.isNaN(new Date(at).getTime()) || typeof total !== "number")
    return false;
  if (typeof tables !== "object" || tables === null) return false;
  return Object.values(tables).every((size) => typeof size === "number");
}

import type { Clock } from "../base/clock.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { downloadText } from "./download.ts";

/** Tag is a released version: `v` and three decimal numbers. Only this file creates one. */
export interface Tag {
  /** `v1.2.3` */
  readonly text: string;
  /** `1.2.3` */
  readonly version: string;
}

export function parseTag(text: string): Tag {
  const tag = tagOrUndefined(text);
  if (tag === undefined)
    throw new Fault("InvalidInput", "tag must read vX.Y.Z, such as v1.2.3", { field: "tag" });
  return tag;
}

/** `tagPattern` matches the tags of releases. */
export const tagPattern = /^v(\d{1,9}\.\d{1,9}\.\d{1,9})$/;

/** `tagOrUndefined` is `parseTag` for callers that word the error themselves. */
export function tagOrUndefined(text: string): Tag | undefined {
  const version = tagPattern.exec(text)?.[1];
  return version === undefined ? undefined : { text, version };
}

const systems: Readonly<Record<string, string>> = {
  "unknown-linux-gnu": "linux-%-gnu",
  "unknown-linux-musl": "linux-%-musl",
  "apple-darwin": "macos-%",
  "pc-windows-msvc": "windows-%.exe",
};

/** `binaryName` returns the name of a release's binary for a target triple. */
export function binaryName(triple: string): string {
  const dash = triple.indexOf("-");
  const system = systems[triple.slice(dash + 1)];
  if (system === undefined)
    throw new Fault("Other", `there are no releases for ${triple}; update it the way it was installed`);
  return `node-server-${system.replace("%", triple.slice(0, dash))}`;
}

/** `releaseAddress` returns the URL of a file of a release: `{release_url}/<name>?tag=<tag>`. */
export function releaseAddress(releaseUrl: string, name: string, tag: Tag): string {
  const url = new URL(releaseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${name}`;
  url.searchParams.set("tag", tag.text);
  return url.href;
}

/** Validity of an answer of the release server, and of a failure. */
const maxAgeMs = 3_600_000;
const failureMaxAgeMs = 60_000;
/** Longest time that a caller waits for the release server. */
const askMs = 5000;

/** LatestState is what is known of the newest release. */
interface LatestState {
  readonly current: string;
  /** `vX.Y.Z`; null if it is not known. */
  readonly latest: string | null;
  /** Whether `latest` is a later version than `current`. */
  readonly newer: boolean;
  /** Unix milliseconds; null if the release server was never asked. */
  readonly checkedAt: number | null;
  /** Why `latest` is not known, or not new. */
  readonly problem: string | null;
}

interface LatestReleaseOptions {
  /** The version that runs. */
  readonly current: string;
  readonly releaseUrl: () => string | undefined;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
}

/**
 * LatestRelease tells whether there is a newer release, and asks the release server once an hour at the most, when somebody wants
 * to know.
 */
export class LatestRelease {
  readonly #current: string;
  readonly #releaseUrl: () => string | undefined;
  readonly #stopping: AbortSignal;
  readonly #clock: Clock;
  #known: { readonly url: string; readonly state: LatestState; readonly until: number } | undefined;
  #asking: { readonly url: string; readonly state: Promise<LatestState> } | undefined;

  constructor({ current, releaseUrl, stopping, clock }: LatestReleaseOptions) {
    this.#current = current;
    this.#releaseUrl = releaseUrl;
    this.#stopping = stopping;
    this.#clock = clock;
  }

  /** Never rejects: a release server that is away is a `problem`. */
  async state(): Promise<LatestState> {
    const url = this.#releaseUrl();
    if (url === undefined) return this.#unknown(null, "release_url is not set in the configuration");
    if (this.#known?.url === url && this.#clock.monotonic() < this.#known.until) return this.#known.state;
    if (this.#asking?.url === url) return this.#asking.state;
    const asking = { url, state: this.#ask(url) };
    this.#asking = asking;
    try {
      return await asking.state;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  async #ask(url: string): Promise<LatestState> {
    const checkedAt = this.#clock.now();
    try {
      const { text, version } = await askLatest(
        url,
        AbortSignal.any([AbortSignal.timeout(askMs), this.#stopping]),
      );
      const state = {
        current: this.#current,
        latest: text,
        newer: isLater(version, this.#current),
        checkedAt,
        problem: null,
      };
      this.#known = { url, state, until: this.#clock.monotonic() + maxAgeMs };
      return state;
    } catch (error) {
      const problem = error instanceof Fault ? error.detail : messageOf(error);
      // What was known an hour ago is still good to know.
      const { latest = null, newer = false } = this.#known?.url === url ? this.#known.state : {};
      const state = { ...this.#unknown(checkedAt, problem), latest, newer };
      this.#known = { url, state, until: this.#clock.monotonic() + failureMaxAgeMs };
      return state;
    }
  }

  #unknown(checkedAt: number | null, problem: string): LatestState {
    return { current: this.#current, latest: null, newer: false, checkedAt, problem };
  }
}

/** `askLatest` asks a release server for its newest release. Throws IoError. */
export async function askLatest(releaseUrl: string, signal?: AbortSignal): Promise<Tag> {
  const text = (
    await downloadText(`${releaseUrl.replace(/\/+$/, "")}/latest`, "the newest version", signal)
  ).trim();
  const tag = tagOrUndefined(text);
  if (tag !== undefined) return tag;
  throw new Fault("IoError", `the release server names no version: ${JSON.stringify(text.slice(0, 32))}`);
}

/** `isLater` compares two versions by their three numbers; what follows them, as in `1.2.3-dev`, does not count. */
export function isLater(version: string, than: string): boolean {
  const [ours, theirs] = [numbersOf(version), numbersOf(than)];
  const at = ours.findIndex((number, index) => number !== theirs[index]);
  return at >= 0 && (ours[at] ?? 0) > (theirs[at] ?? 0);
}

function numbersOf(version: string): number[] {
  return (/^\d+\.\d+\.\d+/.exec(version)?.[0] ?? "0.0.0").split(".").map(Number);
}

import { systemClock } from "../../base/clock.ts";
import { ContentBudget } from "../../base/memory-budget.ts";
import { openFolder } from "../../buckets/open-storage.ts";
import type { FileReader } from "../../buckets/ports.ts";
import type { Bucket } from "../../buckets/record.ts";
import { SiteFiles, siteProblems } from "../../buckets/site-files.ts";
import type { SiteProblem } from "../../sites/problem.ts";
import type { SiteRules } from "../../sites/site-rules.ts";
import { Compression } from "../content/compression.ts";
import { decodePath } from "./address.ts";
import { MemoryCache } from "./memory-cache.ts";
import { noSuchFile, type StaticOptions, serveBucket } from "./serve.ts";

interface FolderSiteOptions {
  /** Whether `/about` is the address of `about.html`. */
  readonly cleanUrls: boolean;
  /** Whether a path would not be deployed. */
  readonly isLeftOut: (path: string) => boolean;
}

/** A connection without progress is dropped after this time. */
const windowMs = 60_000;

/**
 * FolderSite answers for the files of a folder as plain HTTP does for a public bucket at its own host name, without a database: the
 * same pages, rules, headers, conditions and ranges. Each request is answered by the files as they are then.
 */
export class FolderSite {
  readonly #reader: FileReader;
  readonly #site: SiteFiles;
  readonly #options: StaticOptions;
  readonly #bucket: Bucket;
  readonly #isLeftOut: (path: string) => boolean;

  constructor(folder: string, { cleanUrls, isLeftOut }: FolderSiteOptions) {
    this.#reader = openFolder(folder);
    this.#site = new SiteFiles(this.#reader);
    this.#isLeftOut = isLeftOut;
    const contentBudget = new ContentBudget(windowMs, systemClock);
    const records = () => {
      throw new Error("no file is in memory, so no record is compared");
    };
    this.#options = {
      cache: new MemoryCache({ maxBytes: () => 0, records }),
      compression: new Compression(contentBudget),
      contentBudget,
    };
    this.#bucket = {
      ...{ id: 0, name: "folder", path: "folder", hosts: [] },
      ...{ is_http_root: true, cors: false, enable: true, public: true, clean_urls: cleanUrls },
    };
  }

  /** answer returns the response to a request for a file. */
  async answer(request: Request): Promise<Response> {
    const rest = new URL(request.url, "http://localhost").pathname.slice(1);
    const path = decodePath(rest)?.path ?? "";
    if (path !== "" && this.#isLeftOut(path)) return noSuchFile();
    const target = { request, rest, base: "/", keyBase: "/", isOwnHost: true };
    const files = { filesOf: () => ({ site: this.#site }) };
    return serveBucket(
      { ...target, bucket: this.#bucket, buckets: files, freshState: undefined },
      this.#options,
    );
  }

  /** rules returns the rules as they are now: the same object until one of their files changes. */
  async rules(): Promise<SiteRules> {
    return (await this.#site.rules()).rules;
  }

  /** problems returns what is wrong with the rules. */
  problems(): Promise<SiteProblem[]> {
    return siteProblems(this.#reader);
  }
}

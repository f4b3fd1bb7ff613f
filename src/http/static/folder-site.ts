import { systemClock } from "../../base/clock.ts";
import { ContentBudget } from "../../base/memory-budget.ts";
import { openFolder } from "../../buckets/open-storage.ts";
import type { TreePath } from "../../buckets/path.ts";
import { type FileEntry, type FileReader, notFound, type PinnedReader } from "../../buckets/ports.ts";
import type { Bucket } from "../../buckets/record.ts";
import { SiteFiles, siteProblems } from "../../buckets/site-files.ts";
import type { SiteProblem } from "../../sites/problem.ts";
import type { SiteRules } from "../../sites/site-rules.ts";
import { Compression } from "../content/compression.ts";
import { MemoryCache } from "./memory-cache.ts";
import { type StaticOptions, serveBucket } from "./serve.ts";

interface FolderSiteOptions {
  /** Whether `/about` is the address of `about.html`. */
  readonly cleanUrls: boolean;
  /** Whether a file or folder would not be deployed. */
  readonly isLeftOut: (entry: Pick<FileEntry, "path" | "kind">) => boolean;
}

/** A connection without progress is dropped after this time. */
const windowMs = 60_000;

/**
 * FolderSite answers for the files of a folder as plain HTTP does for a public bucket at its own host name, without a database: the
 * same pages, rules, headers, conditions and ranges. Each request is answered by the files as they are then.
 */
export class FolderSite {
  readonly #reader: DeployedReader;
  readonly #site: SiteFiles;
  readonly #options: StaticOptions;
  readonly #bucket: Bucket;

  constructor(folder: string, { cleanUrls, isLeftOut }: FolderSiteOptions) {
    const reader = openFolder(folder);
    this.#reader = new DeployedReader(reader, isLeftOut);
    this.#site = new SiteFiles({
      pinned: (...args) => new DeployedReader(reader.pinned(...args), isLeftOut),
    });
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

/** DeployedReader reads what would be deployed of a folder. The rest does not exist, whatever address or rule leads to it. */
class DeployedReader implements PinnedReader {
  readonly #reader: Omit<PinnedReader, "tree"> & { readonly tree?: string | undefined };
  readonly #isLeftOut: FolderSiteOptions["isLeftOut"];

  constructor(reader: FileReader | PinnedReader, isLeftOut: FolderSiteOptions["isLeftOut"]) {
    this.#reader = reader;
    this.#isLeftOut = isLeftOut;
  }

  get tree(): string | undefined {
    return this.#reader.tree;
  }

  async find(path: TreePath) {
    const entry = await this.#reader.find(path);
    return entry === undefined || (entry.path !== "" && this.#isLeftOut(entry)) ? undefined : entry;
  }

  async open(path: TreePath) {
    if ((await this.find(path)) === undefined) throw notFound(path);
    return this.#reader.open(path);
  }

  async openOrFind(path: TreePath) {
    return (await this.find(path)) && this.#reader.openOrFind(path);
  }

  snapshotOfMissing(path: TreePath) {
    return this.#reader.snapshotOfMissing(path);
  }
}

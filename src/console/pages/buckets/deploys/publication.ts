import { signal } from "@preact/signals";
import { type NodeServerClient, NotFound, RpcError } from "../../../../client/index.ts";
import { untilReachable } from "../../../connection.ts";
import { onSessionEnd } from "../../../session/session-state.ts";
import { registerUnsavedWork } from "../../../session/unsaved-work.ts";
import { t } from "../../../text/text.ts";
import { showError } from "../../../ui/toasts.tsx";
import { Sha256 } from "./sha256.ts";
import type { Site } from "./site.ts";
import type { SiteFile } from "./zip.ts";

/** Progress is how far a site is on its way to a deploy. */
export interface Progress {
  readonly state: "reading" | "uploading" | "failed" | "ready";
  readonly files: number;
  readonly allFiles: number;
  readonly bytes: number;
  readonly allBytes: number;
  /** Of a failed one. */
  readonly error?: unknown;
}

interface Digest {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** Files of one call, as in `node-server deploy`. */
const maxPerCall = 1000;
const maxUploads = 4;
/** A third of the time for which a lease is valid. */
const renewMs = 20_000;

/** DeployLease tells `node-server push`, `deploy` and other consoles who changes the bucket. One that is not renewed ends by itself. */
class DeployLease {
  readonly #client: NodeServerClient;
  readonly #name: string;
  #lease: string | undefined;
  #renewedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(client: NodeServerClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** Throws if somebody else has it. */
  async take(): Promise<void> {
    await this.#acquire();
    this.#timer ??= setInterval(() => this.renew(), renewMs / 2);
  }

  /** Renews it if that is due. Timers of a tab in the background are late, so progress calls this too. */
  renew(): void {
    if (this.#timer === undefined || Date.now() - this.#renewedAt < renewMs) return;
    this.#acquire().then(
      () => {
        if (this.#timer === undefined) this.tellEnd();
      },
      (error: unknown) => {
        // The connection was lost for longer than a lease lasts, and somebody else has begun meanwhile.
        if (error instanceof RpcError && error.data.reason === "in_use") showError(error);
      },
    );
  }

  release(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.tellEnd();
  }

  /** Ends it on the server; while the page stays, it is renewed again. */
  tellEnd(): void {
    if (this.#lease === undefined) return;
    const params = { name: this.#name, lease: this.#lease };
    this.#renewedAt = 0;
    // Without an answer, it ends by itself within a minute.
    this.#client.call("static-bucket_release", params).catch(() => {});
  }

  async #acquire(): Promise<void> {
    this.#renewedAt = Date.now();
    const params = { name: this.#name, what: "deploy", lease: this.#lease };
    this.#lease = (await this.#client.call("static-bucket_lease", params)).lease;
  }
}

/** Publication is a site on its way to a deploy of a bucket. It goes on while the person looks at other pages. */
export class Publication {
  readonly bucket: string;
  readonly site: Site;
  /** The name of its stable preview address. */
  readonly preview: string | undefined;
  readonly progress = signal<Progress>({ state: "reading", files: 0, allFiles: 0, bytes: 0, allBytes: 0 });
  /** The deploy, once it was begun. */
  deploy: string | undefined;
  readonly #client: NodeServerClient;
  readonly #lease: DeployLease;
  #digests: readonly Digest[] | undefined;
  #abort = new AbortController();

  constructor(
    client: NodeServerClient,
    { bucket, site, preview }: Pick<Publication, "bucket" | "site" | "preview">,
  ) {
    this.#client = client;
    this.#lease = new DeployLease(client, bucket);
    this.bucket = bucket;
    this.site = site;
    this.preview = preview;
  }

  /** Reads and uploads the files, or goes on after a failure. With `force` it begins also while somebody else deploys. */
  async run({ force = false } = {}): Promise<void> {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    this.#start("reading", this.site.files);
    try {
      await this.#lease.take();
      if (signal.aborted) return this.#lease.release();
      this.#digests ??= await this.#read(signal);
      this.deploy ??= (await this.#begin(force, signal)).deploy;
      await this.#fill(this.deploy, this.#digests, signal);
      this.progress.value = { ...this.progress.value, state: "ready" };
    } catch (error) {
      if (signal.aborted) return;
      // It was removed meanwhile: the next attempt begins another one.
      if (error instanceof NotFound && error.data.field === "deploy") this.deploy = undefined;
      this.progress.value = { ...this.progress.value, state: "failed", error };
    }
    this.#lease.release();
  }

  /** Ends the work, and deletes what was uploaded. */
  async cancel(): Promise<void> {
    this.#end();
    const { deploy } = this;
    try {
      if (deploy !== undefined)
        await this.#client.call("static-bucket_deploy_delete", { name: this.bucket, deploy });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    } finally {
      this.#lease.release();
    }
  }

  /** Ends the work. */
  stop(): void {
    this.#end();
    this.#lease.release();
  }

  /** Lets others begin, since the page is being closed. */
  leave(): void {
    if (this.isBusy) this.#lease.tellEnd();
  }

  #end(): void {
    this.#abort.abort();
    if (publication.peek() === this) publication.value = undefined;
  }

  get isBusy(): boolean {
    const { state } = this.progress.peek();
    return state === "reading" || state === "uploading";
  }

  /** Whether it failed because somebody else deploys to the bucket. */
  get isBlocked(): boolean {
    const { error } = this.progress.value;
    return error instanceof RpcError && error.data.reason === "deploy_open";
  }

  async #read(signal: AbortSignal): Promise<Digest[]> {
    const { files } = this.site;
    this.#start("reading", files);
    const digests: Digest[] = [];
    for (const { path, size, pieces } of files) {
      const hash = new Sha256();
      for await (const piece of pieces()) {
        signal.throwIfAborted();
        hash.update(piece);
        this.#add({ bytes: piece.length });
      }
      signal.throwIfAborted();
      digests.push({ path, size, sha256: hash.digest() });
      this.#add({ files: 1 });
    }
    return digests;
  }

  #begin(force: boolean, signal: AbortSignal) {
    const { bucket: name, site, preview } = this;
    const params = { name, note: site.name, preview, force };
    return this.#client.call("static-bucket_deploy_begin", params, { signal });
  }

  async #fill(deploy: string, digests: readonly Digest[], signal: AbortSignal): Promise<void> {
    const missing = new Set(await this.#declare(deploy, digests, signal));
    const files = this.site.files.filter(({ path }) => missing.has(path));
    this.#start("uploading", files);
    await this.#upload(deploy, files, signal);
    const [wrong] = await this.#declare(
      deploy,
      digests.filter(({ path }) => missing.has(path)),
      signal,
    );
    if (wrong !== undefined) throw new Error(t.bucketTabs.otherContent(wrong));
  }

  /** Returns the paths of the files that the deploy does not have. */
  async #declare(deploy: string, digests: readonly Digest[], signal: AbortSignal): Promise<string[]> {
    const missing: string[] = [];
    for (let at = 0; at < digests.length; at += maxPerCall) {
      const params = { name: this.bucket, deploy, files: digests.slice(at, at + maxPerCall) };
      const call = () => this.#client.call("static-bucket_deploy_add", params, { signal });
      missing.push(...(await untilReachable(call, signal)).missing);
    }
    return missing;
  }

  async #upload(deploy: string, files: readonly SiteFile[], signal: AbortSignal): Promise<void> {
    const target = this.#client.bucket(`${this.bucket}@${deploy}`);
    const waiting = [...files];
    const ending = new AbortController();
    const end = () => ending.abort();
    signal.addEventListener("abort", end);
    const work = async () => {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
        ending.signal.throwIfAborted();
        let sent = 0;
        const onProgress = (bytes: number) => {
          this.#add({ bytes: bytes - sent });
          sent = bytes;
        };
        await target.upload(file.path, await file.blob(), { signal: ending.signal, onProgress, retry: true });
        this.#add({ files: 1, bytes: file.size - sent });
      }
    };
    try {
      await Promise.all(Array.from({ length: maxUploads }, work));
    } finally {
      // After a failure, the other uploads end too.
      end();
      signal.removeEventListener("abort", end);
    }
  }

  #start(state: Progress["state"], files: readonly SiteFile[]): void {
    const allBytes = files.reduce((sum, { size }) => sum + size, 0);
    this.progress.value = { state, files: 0, allFiles: files.length, bytes: 0, allBytes };
  }

  #add({ files = 0, bytes = 0 }: { readonly files?: number; readonly bytes?: number }): void {
    this.#lease.renew();
    const before = this.progress.peek();
    this.progress.value = { ...before, files: before.files + files, bytes: before.bytes + bytes };
  }
}

/** The one that is under way, or waits for its publication. */
export const publication = signal<Publication | undefined>(undefined);

onSessionEnd(() => publication.peek()?.stop());

addEventListener("pagehide", () => publication.peek()?.leave());

registerUnsavedWork(() => (publication.peek()?.isBusy ? t.bucketTabs.deployUnderWay : undefined));

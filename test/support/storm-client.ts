import { sha256 } from "./blob-stores.ts";
import type { Server } from "./process.ts";
import type { StoredTree } from "./stored-tree.ts";

/** The folders of a client, each with the SHA-256 of its files by name. */
type Folders = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Operation {
  readonly method: "PUT" | "MKCOL" | "COPY" | "MOVE" | "DELETE";
  readonly path: string;
  readonly to?: string;
  readonly body?: string;
  /** The folders once it is done. */
  readonly after: Folders;
}

const folderNames = ["x", "y", "z"];
const fileNames = 8;
const sizes = [0, 1, 4096, 70_000, 400_000];

/** A client that changes a folder of its own in the bucket `site` by WebDAV, one change after the other, and knows what must be there. */
export class StormClient {
  /** As it was when the last change was answered. */
  folders: Folders = {};
  /** The change that was sent and not answered. */
  pending: Operation | undefined;
  answers = 0;
  #sent = 0;

  constructor(
    readonly name: string,
    readonly authorization: string,
    readonly random: () => number,
  ) {}

  async begin(server: Server): Promise<void> {
    await this.#send(server, { method: "MKCOL", path: "", after: {} });
  }

  /** Changes the folder until the server is gone. Throws if a change is refused. */
  async run(server: Server): Promise<void> {
    while (server.alive) {
      this.pending = this.#next();
      const status = await this.#send(server, this.pending).catch(() => undefined);
      if (status === undefined) return;
      const { method, path, after } = this.pending;
      if (status !== 201 && status !== 204) throw new Error(`${method} ${this.name}/${path}: ${status}`);
      this.folders = after;
      this.pending = undefined;
      this.answers += 1;
    }
  }

  /** Compares the store with what was answered. Returns whether a change that was not answered was done. */
  examine({ entries }: StoredTree): boolean {
    const found: Record<string, Record<string, string>> = {};
    for (const [path, file] of entries) {
      const [folder = "", name = ""] = path.slice(`site/${this.name}/`.length).split("/");
      if (!path.startsWith(`site/${this.name}/`) || folder === "") continue;
      found[folder] ??= {};
      if (file !== undefined) found[folder][name] = file.hash;
    }
    const { pending } = this;
    const isDone = pending !== undefined && Bun.deepEquals(found, pending.after);
    if (!isDone && !Bun.deepEquals(found, this.folders))
      throw new Error(
        `${this.name} has ${JSON.stringify(found)}; answered was ${JSON.stringify(this.folders)}, and then ${JSON.stringify({ ...pending, body: undefined })} was sent`,
      );
    this.folders = found;
    this.pending = undefined;
    return isDone;
  }

  #send(server: Server, { method, path, to, body }: Operation): Promise<number> {
    const base = `/node/static-webdav/site/${this.name}/`;
    return fetch(`${server.url}${base}${path}`, {
      method,
      headers: {
        authorization: this.authorization,
        ...(to === undefined ? {} : { destination: `${base}${to}` }),
      },
      keepalive: false,
      ...(body === undefined ? {} : { body }),
    }).then(async (response) => {
      await response.arrayBuffer();
      return response.status;
    });
  }

  #next(): Operation {
    const { folders } = this;
    const [from, to] = [this.#any(folderNames), this.#any(folderNames)];
    const files = folders[from];
    if (files === undefined) return { method: "MKCOL", path: from, after: { ...folders, [from]: {} } };
    const { [from]: _, ...others } = folders;
    const choice = this.random();
    if (choice < 0.12) return { method: "DELETE", path: from, after: others };
    if (choice < 0.3 && from !== to)
      return { method: "COPY", path: from, to, after: { ...folders, [to]: files } };
    if (choice < 0.48 && from !== to)
      return { method: "MOVE", path: from, to, after: { ...others, [to]: files } };
    this.#sent += 1;
    const name = `f${Math.floor(this.random() * fileNames)}`;
    // No two versions have the same content, and a mixture of two has the content of neither.
    const body = `${this.name} ${this.#sent} ${this.random()} `.repeat(20_000).slice(0, this.#any(sizes));
    const after = { ...folders, [from]: { ...files, [name]: sha256(body) } };
    return { method: "PUT", path: `${from}/${name}`, body, after };
  }

  #any<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }
}

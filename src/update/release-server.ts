import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { parseTag } from "./release.ts";

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const text = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };

/**
 * ReleaseServer serves releases for self-update from a folder: a subfolder for each tag, or one release alone with its tag in the
 * file `TAG`.
 */
export class ReleaseServer {
  readonly #folder: string;
  /** Path, size and time → digest. A release does not change, so each file is read once. */
  readonly #digests = new Map<string, Promise<Buffer>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async answer(request: Request): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD")
      return new Response("405 Method Not Allowed\n", {
        status: 405,
        headers: { ...text, allow: "GET, HEAD" },
      });
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.split("/").pop() ?? "";
    if (name === "latest") return this.#latest();
    const tag = searchParams.get("tag");
    const folder = tag === null ? undefined : await this.#folderOf(tag);
    if (folder === undefined) return notFound("there is no release with this tag (?tag=vX.Y.Z)");
    if (!nameForm.test(name) || name === "TAG") return notFound("there is no such file in the release");
    return this.#file(request, join(folder, name));
  }

  /** Returns the tags, the newest first. */
  async tags(): Promise<string[]> {
    const names = (await readdir(this.#folder, { withFileTypes: true })).filter((entry) =>
      entry.isDirectory(),
    );
    const alone = await readTag(this.#folder);
    return [...names.map(({ name }) => name), ...(alone === undefined ? [] : [alone])]
      .filter(isTag)
      .sort((a, b) => compareTags(b, a));
  }

  async #latest(): Promise<Response> {
    const [newest] = await this.tags();
    return newest === undefined
      ? notFound("there is no release yet")
      : new Response(`${newest}\n`, { headers: text });
  }

  async #folderOf(tag: string): Promise<string | undefined> {
    if (!isTag(tag)) return undefined;
    const own = join(this.#folder, tag);
    if (await isThere(own)) return own;
    return (await readTag(this.#folder)) === tag ? this.#folder : undefined;
  }

  async #file(request: Request, path: string): Promise<Response> {
    const stats = await isThere(path);
    if (!stats?.isFile()) return notFound("there is no such file in the release");
    const digest = await this.#digest(path, stats);
    const headers: Record<string, string> = {
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "x-checksum-sha256": digest.toString("hex"),
      vary: "accept-encoding",
    };
    const packed = /(?:^|,)\s*zstd\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(
      request.headers.get("accept-encoding") ?? "",
    )
      ? await isThere(`${path}.zst`)
      : undefined;
    const sent =
      packed === undefined
        ? { path, stats, digest }
        : {
            path: `${path}.zst`,
            stats: packed,
            digest: await this.#digest(`${path}.zst`, packed),
          };
    if (packed !== undefined) headers["content-encoding"] = "zstd";
    // RFC 9530: the digest of the content as sent, encoding included.
    headers["repr-digest"] = `sha-256=:${sent.digest.toString("base64")}:`;
    headers["content-length"] = String(sent.stats.size);
    headers["content-disposition"] = "attachment";
    return new Response(request.method === "HEAD" ? null : Bun.file(sent.path), { headers });
  }

  #digest(path: string, { size, mtimeMs }: { size: number; mtimeMs: number }): Promise<Buffer> {
    const known = `${path}\n${size}\n${mtimeMs}`;
    let digest = this.#digests.get(known);
    if (digest === undefined) {
      digest = digestOf(path);
      digest.catch(() => this.#digests.delete(known));
      this.#digests.set(known, digest);
    }
    return digest;
  }
}

async function digestOf(path: string): Promise<Buffer> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest();
}

async function isThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

async function readTag(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, "TAG"), "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isTag(tag: string): boolean {
  try {
    return parseTag(tag).text === tag;
  } catch {
    return false;
  }
}

function compareTags(a: string, b: string): number {
  const [x, y] = [a, b].map((tag) => tag.slice(1).split(".").map(Number));
  for (const at of [0, 1, 2]) {
    const difference = (x?.[at] ?? 0) - (y?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function notFound(why: string): Response {
  return new Response(`404 Not Found: ${why}.\n`, { status: 404, headers: text });
}

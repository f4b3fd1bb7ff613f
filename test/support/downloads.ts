import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Fault } from "../../src/base/fault.ts";
import { type DownloadOptions, download, type Progress } from "../../src/update/download.ts";
import { tempFolder } from "./node.ts";
import { randomBytes } from "./tools.ts";
import { within } from "./until.ts";

export const release = Buffer.from(randomBytes(200_000));
export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

export type Answer = (socket: Socket, path: string) => void;

/** A release server that answers each connection byte for byte as it is told, and a folder to download into. */
export async function openDownloads(answer: Answer) {
  const folder = await tempFolder();
  const heard: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("close", () => open.delete(socket)).on("error", () => {}));
    socket.once("data", (bytes) => {
      heard.push(bytes.toString("latin1"));
      answer(socket, /^GET (\S+)/.exec(heard.at(-1) ?? "")?.[1] ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const path = join(folder.path, "new");
  return {
    folder: folder.path,
    path,
    heard,
    open,
    url,
    get: (progress: (progress: Progress) => void = () => {}, mode = 0o755) =>
      download(`${url}/file`, { path, mode, progress }),
    /** Why it failed; fails when it did not. */
    async refusal(more: Partial<DownloadOptions> = {}): Promise<string> {
      const error = await within(
        "the download ends",
        download(`${url}/file`, { path, mode: 0o755, progress() {}, ...more }),
      ).then(
        ({ bytes }) => new Error(`it was accepted, with ${bytes} bytes`),
        (reason: unknown) => reason,
      );
      if (!(error instanceof Fault)) throw error;
      expect([error.kind, error.detail]).toEqual([
        "IoError",
        expect.stringMatching(/^the release was not downloaded: .*; nothing was changed$/s),
      ]);
      return error.detail;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A whole answer, after which the connection ends. */
export function says(
  headers: Record<string, string | number>,
  body: Uint8Array | string = release,
  status = "200 OK",
): Answer {
  const lines = Object.entries({ connection: "close", ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return (socket) => {
    socket.write(`HTTP/1.1 ${status}\r\n${lines.join("")}\r\n`);
    socket.end(body);
  };
}

/** One chunk of a body that has no length. */
export const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
export const lastChunk = Buffer.from("0\r\n\r\n");

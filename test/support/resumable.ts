import { createHash } from "node:crypto";

export const offsetType = "application/offset+octet-stream";

/** Bytes that differ everywhere, so that a piece at a wrong place shows. */
export function distinctBytes(size: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let at = 0; at < size; at += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[at] = state;
    bytes[at + 1] = state >>> 8;
    bytes[at + 2] = state >>> 16;
    bytes[at + 3] = state >>> 24;
  }
  return bytes;
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function digestOf(bytes: Uint8Array): string {
  return `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
}

type Headers = Record<string, string>;

/** What it takes to send resumable uploads to a server as one token. */
export function resumable(url: string, token: string) {
  const ask = (
    method: string,
    address: string,
    headers: Headers = {},
    body?: Uint8Array<ArrayBuffer> | ReadableStream,
  ) =>
    fetch(url + address, {
      method,
      headers: { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0", ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const offsetOf = async (address: string) => {
    const { status, headers } = await ask("HEAD", address);
    return status === 200 ? Number(headers.get("upload-offset")) : status;
  };
  return {
    ask,
    /** The offset; the status if it is not told. */
    offsetOf,
    begin: (path: string, length: number | string, headers: Headers = {}) =>
      ask("POST", `/node/static-upload/${path}`, { "upload-length": String(length), ...headers }),
    /** Begins an upload that must be accepted; its address. */
    async address(path: string, length: number, headers: Headers = {}): Promise<string> {
      const answer = await ask("POST", `/node/static-upload/${path}`, {
        "upload-length": String(length),
        ...headers,
      });
      const location = answer.headers.get("location");
      if (answer.status !== 201 || location === null)
        throw new Error(`POST was answered ${answer.status}: ${await answer.text()}`);
      return location;
    },
    append: (
      address: string,
      offset: number | string,
      body: Uint8Array<ArrayBuffer> | ReadableStream,
      headers: Headers = {},
    ) =>
      ask(
        "PATCH",
        address,
        { "content-type": offsetType, "upload-offset": String(offset), ...headers },
        body,
      ),
    async unfinished(path: string): Promise<Array<Record<string, unknown>>> {
      const answer = await ask("GET", `/node/static-upload/${path}`);
      return ((await answer.json()) as { uploads: Array<Record<string, unknown>> }).uploads;
    },
  };
}

export interface HttpRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** httpRequest is a request as bytes, ready to be sent over a connection that stays open. */
export function httpRequest({ method = "GET", path, headers = {}, body }: HttpRequest): Buffer {
  const content = Buffer.from(body ?? "");
  const length = body === undefined ? {} : { "content-length": String(content.length) };
  const lines = Object.entries({ host: "127.0.0.1", ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), content]);
}

/** A JSON-RPC call as a text. */
export function rpcText(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });
}

/** A JSON-RPC call as an HTTP request. */
export function rpcRequest(text: string): Buffer {
  return httpRequest({
    method: "POST",
    path: "/jsonrpc",
    headers: { "content-type": "application/json" },
    body: text,
  });
}

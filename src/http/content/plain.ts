/** What `/` shows while no bucket is the HTTP root. */
const placeholder = (more: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>node-server</title>
<style>
body { font: 16px/1.6 system-ui, sans-serif; margin: 15vh auto; max-width: 32rem; padding: 0 1rem; color-scheme: light dark }
code { font-size: .95em }
</style>
</head>
<body>
<h1>Node Server Is Running!</h1>
<p>JSON-RPC 2.0 is served at <code>/jsonrpc</code>, by POST and over WebSocket; <code>rpc.discover</code> describes every method.</p>
${more}</body>
</html>
`;
const alone = placeholder("");
const withConsole = placeholder(
  '<p>The <a href="node/console/">web console</a> shows and does all of it in a browser.</p>\n',
);

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

export function placeholderPage(console: boolean): Response {
  return new Response(console ? withConsole : alone, { headers: pageHeaders });
}

/** One line for people, as plain text. */
export function plainText(status: number, line: string, headers: Record<string, string> = {}): Response {
  return new Response(`${line}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers },
  });
}

/** A service behind the server does not answer; the client may try again after some seconds. */
export function serviceUnavailable(detail: string): Response {
  return plainText(503, `503 Service Unavailable: ${detail}.`, { "retry-after": "5" });
}

export function notFound(): Response {
  return plainText(404, "404 Not Found: nothing is served at this address.");
}

export function methodNotAllowed(allow: string, headers: Record<string, string> = {}): Response {
  return plainText(405, `405 Method Not Allowed: this address takes ${allow}.`, { allow, ...headers });
}

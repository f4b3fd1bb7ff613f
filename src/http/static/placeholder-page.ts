import { textResponse } from "../request/response-size.ts";

const page = (more: string) => `<!doctype html>
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
const withoutConsole = page("");
const withConsole = page(
  '<p>The <a href="node/console/">web console</a> shows and does all of it in a browser.</p>\n',
);

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

/** placeholderPage is shown at `/` while no bucket is the HTTP root. */
export function placeholderPage({ console }: { readonly console: boolean }): Response {
  return textResponse(console ? withConsole : withoutConsole, { headers: pageHeaders });
}

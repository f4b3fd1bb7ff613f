import { textResponse } from "../request/response-size.ts";

/** The colours of the console, light and dark. */
const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f7f9, #10141a); --surface: light-dark(#fff, #171c24); --line: light-dark(#d9dee5, #2c3542); --text: light-dark(#1a2029, #e6eaf0); --muted: light-dark(#596472, #9aa6b5); --accent: light-dark(#2456d6, #7ea4ff) }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--text); font: 16px/1.6 system-ui, sans-serif }
main { box-sizing: border-box; width: min(34rem, 100% - 2rem); padding: 1.8rem 2rem; background: var(--surface); border: 1px solid var(--line); border-radius: 14px }
h1 { margin: 0 0 .4rem; font-size: 1.4rem; font-weight: 650; letter-spacing: -.01em }
p { margin: .4rem 0 0; overflow-wrap: anywhere }
small { color: var(--muted) }
a { color: var(--accent) }
code { font-size: .95em }
`;

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
${body}</main>
</body>
</html>
`;

const runs = `<h1>Node Server Is Running!</h1>
<p>JSON-RPC 2.0 is served at <code>/jsonrpc</code>, by POST and over WebSocket; <code>rpc.discover</code> describes every method.</p>
`;
const withoutConsole = page("node-server", runs);
const withConsole = page(
  "node-server",
  `${runs}<p>The <a href="node/console/">web console</a> shows and does all of it in a browser.</p>\n`,
);

/** The empty icon is allowed: without one Firefox asks for `/favicon.ico`, and reports that the policy forbids it. */
const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

export interface PageOptions {
  /** Whether the console is served, so that the page can link to it. */
  readonly console: boolean;
}

/** placeholderPage is shown at `/` while no bucket is the HTTP root. */
export function placeholderPage({ console }: PageOptions): Response {
  return textResponse(console ? withConsole : withoutConsole, { headers: pageHeaders });
}

/**
 * noPage answers with a page that nothing is served at `path`, for a browser that shows it to a person. Its links are relative,
 * so that they are right behind a proxy that adds a prefix.
 */
export function noPage(path: string, { console }: PageOptions): Response {
  const top = "../".repeat(Math.max(path.split("/").length - 2, 0)) || "./";
  const link = console ? `<p><a href="${top}node/console/">Open the web console</a></p>\n` : "";
  const body = `<h1>Nothing is here</h1>\n<p>Nothing is served at this address.</p>\n${link}<p><small>404 Not Found</small></p>\n`;
  return textResponse(page("404 Not Found", body), {
    status: 404,
    headers: { ...pageHeaders, vary: "accept" },
  });
}

/** wantsPage tells whether a request asks for a page to show, as a browser's navigation does. Programs get plain text. */
export function wantsPage({ headers }: Request): boolean {
  return headers.get("accept")?.includes("text/html") === true;
}

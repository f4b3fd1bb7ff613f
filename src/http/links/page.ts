import { randomBytes } from "node:crypto";
import { textResponse } from "../request/response-size.ts";

/** LinkPage is a small page of the server's own. `body` is HTML. */
export interface LinkPage {
  readonly title: string;
  readonly body: string;
  readonly script?: string;
  readonly status?: number;
}

const style = `
:root { color-scheme: light dark }
body { font: 16px/1.6 system-ui, sans-serif; margin: 12vh auto; max-width: 34rem; padding: 0 1rem }
input, button { font: inherit; padding: .4rem .7rem }
.problem { color: light-dark(#a40000, #ff9b9b) }
.problem:has(+ form input:not(:placeholder-shown)) { display: none }
#area { border: 2px dashed GrayText; border-radius: .5rem; margin: 1rem 0; padding: 2rem 1rem; text-align: center }
#area.over { border-color: Highlight }
#files { list-style: none; padding: 0 }
#files li { overflow-wrap: anywhere; padding: .2rem 0 }
progress { display: block; width: 100% }
`;

/**
 * linkPage returns a page that loads nothing and runs the one script it is given. Nobody may frame it, and it shares no window with
 * pages of buckets.
 */
export function linkPage(request: Request, { title, body, script, status = 200 }: LinkPage): Response {
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`, "connect-src 'self'"]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
  };
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const escaped = Bun.escapeHTML(title);
  const tag = script === undefined ? "" : `<script nonce="${nonce}">${script}</script>\n`;
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped}</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<h1>${escaped}</h1>
${body}
${tag}</body>
</html>
`;
  return textResponse(text, { status, headers });
}

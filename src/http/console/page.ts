import { randomBytes } from "node:crypto";
import type { ConsoleFiles } from "../../bundle.ts";
import { textResponse } from "../request/response-size.ts";
import type { Handover } from "./handover.ts";

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3.5' fill='%232456d6'/%3E%3Cpath d='M4 5.500h8M4 10.500h5' stroke='%23fff' stroke-width='1.8'/%3E%3C/svg%3E";

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  // The page may contain a token.
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Pages of buckets have the same origin: without this header, one that opens the console could access its window.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** consolePage is the one page of the console. Scripts injected by a page of a bucket cannot run: none runs without the nonce. */
export function consolePage(files: ConsoleFiles, state: PageState): Response {
  const nonce = randomBytes(18).toString("base64");
  const headers = { ...pageHeaders, "content-security-policy": policy(nonce) };
  return textResponse(pageText(files, nonce, state), { headers });
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    // The browser's PDF viewer. A blob inherits this policy, so that one with other content runs nothing.
    "frame-src blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** PageState is what differs from browser to browser. */
export interface PageState {
  readonly handover: Handover | undefined;
  readonly theme: "light" | "dark" | undefined;
}

/** The console's script reads the tag and removes it from the page. */
function handoverTag(handover: Handover | undefined): string {
  switch (handover?.kind) {
    case undefined:
      return "";
    case "resumable":
      return '<meta name="resumable">\n';
    case "token":
      return tokenTag("remembered", handover.remembered.token, handover.remembered.persistent);
    case "sealed":
      return tokenTag("handover", handover.text, handover.persistent);
  }
}

function tokenTag(name: string, content: string, persistent: boolean): string {
  return `<meta name="${name}" content="${Bun.escapeHTML(content)}"${persistent ? " data-persistent" : ""}>\n`;
}

function pageText(
  { script, modules, style }: ConsoleFiles,
  nonce: string,
  { handover, theme }: PageState,
): string {
  const preloads = modules.map(
    (name) => `<link rel="modulepreload" href="assets/${name}" nonce="${nonce}">\n`,
  );
  return `<!doctype html>
<html lang="en"${theme === undefined ? "" : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? "light dark"}">
${handoverTag(handover)}<title>node-server console</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="assets/${style}">
${preloads.join("")}<script type="module" src="assets/${script}" nonce="${nonce}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript; the same can be done on the command line: node-server --help.</noscript>
</body>
</html>
`;
}

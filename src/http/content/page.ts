import { randomBytes } from "node:crypto";
import { qualityIn } from "../../base/numbers.ts";
import { isNavigation } from "../request/browser-request.ts";

import { type LinkEnd, textResponse } from "./plain.ts";

/** The languages of the pages that strangers see. */
export type Language = "en" | "zh";

/** What an address leads to, so that a page names it rightly: a file of a bucket, or nothing but the server itself. */
export type PageSubject = "server" | "file" | "link" | "preview";

/** ServerPage is a small page of the server's own. `body` is HTML. */
export interface ServerPage {
  readonly title: string;
  readonly body: string;
  /** Rules of CSS beside those that every page has. */
  readonly style?: string;
  /** The one script of the page. */
  readonly script?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The colours of the console, light and dark. */
const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f7f9, #10141a); --surface: light-dark(#fff, #171c24); --line: light-dark(#d9dee5, #2c3542); --text: light-dark(#1a2029, #e6eaf0); --muted: light-dark(#596472, #9aa6b5); --accent: light-dark(#2456d6, #7ea4ff); --on-accent: light-dark(#fff, #10141a); --bad: light-dark(#a40000, #ff9b9b) }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--text); font: 16px/1.6 system-ui, sans-serif }
main { box-sizing: border-box; width: min(34rem, 100% - 2rem); margin: 1rem 0; padding: 1.8rem 2rem; background: var(--surface); border: 1px solid var(--line); border-radius: 14px }
h1 { margin: 0 0 .4rem; font-size: 1.4rem; line-height: 1.3; font-weight: 650; letter-spacing: -.01em; overflow-wrap: anywhere }
p { margin: .4rem 0 0; overflow-wrap: anywhere }
small, .facts { color: var(--muted) }
a { color: var(--accent) }
code { font-size: .95em }
blockquote { margin: 1rem 0 0; padding: .1rem 0 .1rem 1rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere }
form, .choices { display: flex; flex-wrap: wrap; gap: .7rem; align-items: end; margin-top: 1.2rem }
.choices { justify-content: center }
label { display: grid; gap: .2rem; flex: 1 1 12rem; font-size: .9rem }
input[type=password] { font: inherit; font-size: 1rem; min-height: 2.75rem; box-sizing: border-box; width: 100%; padding: .4rem .7rem; border: 1px solid var(--muted); border-radius: 8px; background: var(--surface); color: inherit }
button, .button { font: inherit; font-weight: 550; min-height: 2.75rem; box-sizing: border-box; flex: 0 0 auto; display: inline-grid; place-items: center; padding: .4rem 1.1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); color: inherit; cursor: pointer }
.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
:is(input, button):focus-visible, .button:focus-within { outline: 2px solid var(--accent); outline-offset: 2px }
p > label { margin-top: 1rem }
.problem { color: var(--bad) }
.problem:has(+ form input:not(:placeholder-shown)) { display: none }
`;

/**
 * serverPage returns a page that loads nothing and runs the one script it is given. Nobody may frame it, and it shares no window with
 * pages of buckets. The empty icon is allowed: without one Firefox asks for `/favicon.ico`, and reports that the policy forbids it.
 */
export function serverPage(request: Request, page: ServerPage): Response {
  const { title, body, script, status = 200, headers = {} } = page;
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    "img-src data:",
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`, "connect-src 'self'"]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  const escaped = Bun.escapeHTML(title);
  const tag = script === undefined ? "" : `<script nonce="${nonce}">${script}</script>\n`;
  const text = `<!doctype html>
<html lang="${languageOf(request)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${style}${page.style ?? ""}</style>
</head>
<body>
<main>
<h1>${escaped}</h1>
${body}</main>
${tag}</body>
</html>
`;
  return textResponse(text, {
    status,
    headers: {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-cache",
      vary: "accept, accept-language",
    },
  });
}

/** languageOf returns the language that a visitor reads best, of those that pages are written in. */
export function languageOf({ headers }: Request): Language {
  let [best, bestWeight]: [Language, number] = ["en", 0];
  for (const part of (headers.get("accept-language") ?? "").split(",")) {
    const [tag = "", ...parameters] = part
      .toLowerCase()
      .split(";")
      .map((one) => one.trim());
    const weight = qualityIn(parameters);
    const language = /^(en|zh)(?![a-z])/.exec(tag)?.[1] as Language | undefined;
    if (language !== undefined && weight > bestWeight) [best, bestWeight] = [language, weight];
  }
  return best;
}

/** wantsPage returns whether a request asks for a page to show, as a browser's navigation does. Programs get plain text. */
export function wantsPage({ method, headers }: Request): boolean {
  return method !== "PUT" && headers.get("accept")?.includes("text/html") === true;
}

type Why = LinkEnd | "nowhere" | "no_file" | "no_link" | "no_preview" | "busy" | "later" | "broken";

/** A title and a sentence for each reason why a stranger gets nothing. */
const refusals: Readonly<Record<Language, Readonly<Record<Why, readonly [title: string, text: string]>>>> = {
  en: {
    nowhere: ["Nothing is here", "Nothing is served at this address."],
    no_file: ["Nothing is here", "There is no page or file at this address."],
    no_link: [
      "This link does not work",
      "It is not complete, or what it led to is gone. Ask its sender for a new one.",
    ],
    no_preview: [
      "There is no such preview",
      "It has ended, or the address is not complete. Ask for another link.",
    ],
    expired: ["This link has expired", "Ask its sender for a new one."],
    revoked: ["This link was revoked", "Its owner has ended it. Ask its sender for a new one."],
    used_up: [
      "This link is used up",
      "It was good for a limited number of uses. Ask its sender for a new one.",
    ],
    ended: ["This preview has ended", "Ask for another link."],
    busy: ["Somebody is working on this", "Try again in a moment."],
    later: ["The server is busy", "Try again in a moment."],
    broken: [
      "Something went wrong",
      "The server cannot show this now. Try again later, or tell whoever runs it.",
    ],
  },
  zh: {
    nowhere: ["这里没有内容", "这个地址没有提供任何内容。"],
    no_file: ["这里没有内容", "这个地址没有网页或文件。"],
    no_link: ["这个链接无法使用", "链接不完整，或者它指向的内容已不存在。请向发送者索取新链接。"],
    no_preview: ["没有这个预览", "预览已结束，或者地址不完整。请索取新链接。"],
    expired: ["这个链接已过期", "请向发送者索取新链接。"],
    revoked: ["这个链接已被撤销", "链接的所有者已将它终止。请向发送者索取新链接。"],
    used_up: ["这个链接已用完", "链接的使用次数有限。请向发送者索取新链接。"],
    ended: ["这个预览已结束", "请索取新链接。"],
    busy: ["有人正在处理", "请稍后再试。"],
    later: ["服务器繁忙", "请稍后再试。"],
    broken: ["出了点问题", "服务器现在无法显示这里的内容。请稍后再试，或联系服务器的管理员。"],
  },
};

/** whyOf returns the reason that a status alone tells; undefined if it is not one that a stranger can do something about. */
function whyOf(status: number, subject: PageSubject): Why | undefined {
  switch (status) {
    case 404:
      return ({ server: "nowhere", file: "no_file", link: "no_link", preview: "no_preview" } as const)[
        subject
      ];
    case 410:
      return subject === "file" ? "no_file" : "ended";
    case 423:
      return "busy";
    case 429:
    case 503:
      return "later";
    default:
      return status >= 500 ? "broken" : undefined;
  }
}

/**
 * refusalPage shows a person why a request was refused: the same status and headers as the line of plain text that programs get.
 * The contract says that a missing file of a bucket is plain text, so there only a browser's tab that goes to the address gets a page.
 * `more` is HTML below the sentence.
 */
export function refusalPage(request: Request, refusal: Response, subject: PageSubject, more = ""): Response {
  const { status, headers } = refusal;
  const isShown = subject === "file" || subject === "preview" ? isNavigation(request) : wantsPage(request);
  if (status < 400 || !isShown || headers.get("content-type") !== "text/plain; charset=utf-8") return refusal;
  const own = refusals[languageOf(request)];
  const reason = headers.get("x-error-reason") ?? "";
  const why = Object.hasOwn(own, reason) ? (reason as Why) : whyOf(status, subject);
  if (why === undefined) return refusal;
  const [title, text] = own[why];
  return serverPage(request, {
    title,
    status,
    headers: Object.fromEntries(headers),
    body: `<p>${text}</p>\n${more}<p><small>${status}</small></p>\n`,
  });
}

import type { CorpusSite } from "./corpus.ts";

const moved = Array.from(
  { length: 2400 },
  (_, at) => `/support/topic-${at}/ /help/${at % 40}/topic-${at}/ 301`,
);

/** Sites with the forms that public sites use, under names of our own: what people write, mistakes included. */
export const forms: Readonly<Record<string, CorpusSite>> = {
  // The documentation of a large project: thousands of rules, forced ones, a splat within a name and in a fragment.
  "large-docs": {
    redirects: `################################
# server-side redirects        #
################################

/docs/     /docs/home/ 301!
/de/docs/     /de/docs/home/ 301!
/docs/admin/rbac.md     /docs/reference/rbac/ 301
/docs/admin/ha.md/     /docs/setup/ha/ 301
/docs/admin/quota/*     /docs/policy/quota/ 301
/docs/admin/quota/walkthrough/     /docs/never/ 301
/docs/cli/cli_*/     /docs/reference/commands#:splat 301
/docs/pods/templates/     /docs/pods/#templates 301
/tool     https://tool.example.org/docs/start/     302
/docs/1.2/*  /docs/:splat
/docs/deploy#cron  /docs/deploy/tools 301
docs/no-slash /docs/x 301
/docs/access 301 /docs/users 301
${moved.join("\n")}
/*    /:splat/index.md.html   404
`,
    files: ["index.html", "docs/index.html", "docs/home/index.html", "404.html"],
    problems: ["_redirects:15", "_redirects:16", "_redirects:17"],
    answers: {
      "/docs/": ["301 /docs/home/"],
      "/docs": ["301 /docs/home/"],
      "/de/docs": ["301 /de/docs/home/"],
      "/docs/home/": ["200 docs/home/index.html"],
      "/docs/admin/rbac.md": ["301 /docs/reference/rbac/"],
      "/docs/admin/ha.md": ["301 /docs/setup/ha/"],
      "/docs/admin/quota/walkthrough/": ["301 /docs/policy/quota/"],
      "/docs/cli/cli_get/": ["301 /docs/reference/commands#get"],
      "/docs/pods/templates": ["301 /docs/pods/#templates"],
      "/tool?from=a": ["302 https://tool.example.org/docs/start/?from=a"],
      "/docs/1.2/a/b": ["301 /docs/a/b"],
      "/docs/deploy": ["404 404.html"],
      "/support/topic-2399": ["301 /help/39/topic-2399/"],
      "/support/topic-2400": ["404 404.html"],
    },
  },
  // A site that moved to another host name, with translations and a 404 page for each.
  "moved-hosts": {
    redirects: `# temporary, the other way round some day
https://old.example.dev/* https://new.example.dev/:splat 301!
http://new.example.dev/* https://new.example.dev/:splat 301!

/:lang/guides/debugging        /:lang/guides/troubleshooting/
/:lang/deploy/:service         /:lang/guides/deploy/:service
/:lang:/reference/parts/       /:lang:/guides/parts/
/docs/*                        /:splat
/inbox* / 301
/premium-themes* https://shop.example.dev/ 301
/                              /en/start/
/:lang/*                       /:lang/404/ 404
`,
    files: ["en/start/index.html", "en/404/index.html", "de/404/index.html"],
    problems: ["_redirects:2", "_redirects:3", "_redirects:7"],
    answers: {
      "/de/guides/debugging/": ["301 /de/guides/troubleshooting/"],
      "/de/deploy/any": ["301 /de/guides/deploy/any"],
      "/docs/en/start/": ["301 /en/start/"],
      "/inbox-3": ["301 /"],
      "/premium-themes/a": ["301 https://shop.example.dev/"],
      "/": ["301 /en/start/"],
      "/de/nothing": ["404 de/404/index.html"],
      "/fr/nothing": ["404"],
    },
  },
  // An application with functions and proxies above its catch-all, and pages for some visitors only.
  "app-with-api": {
    redirects: `/api/*  /.netlify/functions/:splat  200
/api/expand  /.netlify/functions/expand  200
/store/*  https://shop.example.app/:splat  200
/chat https://chat.example.app/room 200
/v3/*      /v3/:splat    200!
/locale.json  /locales/ca.json       200  Country=ca
/locale.json  /locales/default.json  200
/zh-only/* /zh/:splat 302 Language=zh
/admin/*  200!  Role=admin
/admin/*  /login.html  401!
/beta/*  /beta.html 200 Cookie=nf_ab
/shop id=:id  /shop/:id  301
/retired/*  /404.html  410!
/wp-login.php /404 410
/* / 200
`,
    files: [
      "index.html",
      "login.html",
      "404.html",
      "admin/panel.html",
      "retired/a.html",
      "v3/a.html",
      "locales/default.json",
    ],
    problems: [1, 2, 3, 4, 6, 8, 9, 11, 12].map((line) => `_redirects:${line}`),
    answers: {
      "/api/users": ["404 404.html"],
      "/store/": ["404 404.html"],
      "/chat": ["404 404.html"],
      "/v3/a.html": ["200 v3/a.html"],
      "/locale.json": ["200 locales/default.json"],
      "/zh-only/a": ["200 index.html"],
      "/admin/panel.html": ["403 login.html"],
      "/retired/a.html": ["410 404.html"],
      "/wp-login.php": ["410 404.html"],
      "/any/where": ["200 index.html"],
    },
  },
  // Files of other systems: a byte order mark, CRLF, tabs, comments behind rules, no line feed at the end.
  "other-editors": {
    redirects: "\uFEFF# caf\u00e9\r\n/a\t\t/b\t301\r\n  /c   /d   302   # why\r\n\r\n/e /f#g 301\r\n/h\t/i",
    headers:
      "\uFEFF/*\r\n\tAccess-Control-Allow-Origin: *\r\n\t# not in frames\r\n\tX-Frame-Options : SAMEORIGIN\r\n\r\n/b\r\nX-B:1",
    files: ["index.html", "b"],
    answers: {
      "/a": ["301 /b"],
      "/c": ["302 /d"],
      "/e": ["301 /f#g"],
      "/h": ["301 /i"],
      "/b": ["200 b", { "x-frame-options": "SAMEORIGIN", "x-b": "1", "access-control-allow-origin": "*" }],
    },
  },
  // Headers as people write them, with what no host does.
  "odd-headers": {
    headers: `/*/llms.txt:
  Content-Type: text/plain; charset=utf-8
/**/*.avif
/**/*.css
  Cache-Control: max-age=3600
/themes/*/*.js
  Cache-Control: max-age=60
/*.js   Cache-Control: no-store
https://:project.pages.dev/*
  X-Robots-Tag: none
/about/
  ! Content-Security-Policy
  Content-Security-Policy: script-src 'self' https://cdn.example.org;
/team/*
  Basic-Auth: ann:secret bob:secret
/*.meshdata
  Content-Type: binary/octet-stream
/page
  Content-Security-Policy: default-src 'self';
    script-src 'self'
`,
    files: ["index.html", "css/a.css", "themes/one/a.js", "team/plan.txt", "x.meshdata", "page", "a.js"],
    problems: [1, 8, 9, 15, 20].map((line) => `_headers:${line}`),
    answers: {
      "/css/a.css": ["200 css/a.css", { "cache-control": "max-age=3600" }],
      "/themes/one/a.js": ["200 themes/one/a.js", { "cache-control": "max-age=60" }],
      "/a.js": ["200 a.js", { "cache-control": "no-cache" }],
      "/team/plan.txt": ["403"],
      "/x.meshdata": ["200 x.meshdata", { "content-type": "binary/octet-stream" }],
      "/page": ["200 page", { "content-security-policy": "default-src 'self';" }],
    },
  },
};

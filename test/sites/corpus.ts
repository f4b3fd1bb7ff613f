import { forms } from "./corpus-forms.ts";
import { generated } from "./corpus-generated.ts";

/** CorpusSite is a site with its `_redirects` and `_headers`: in `corpus/<name>/`, or given here. */
export interface CorpusSite {
  readonly redirects?: string;
  readonly headers?: string;
  /** Every file; its content is its path. */
  readonly files: readonly string[];
  readonly cleanUrls?: boolean;
  /** Lines that cannot be used, such as `_headers:3`. */
  readonly problems?: readonly string[];
  /** What requests are answered: a status, then the address that it redirects to or the file that is sent, then headers. */
  readonly answers: Readonly<Record<string, readonly [string, Readonly<Record<string, string | null>>?]>>;
}

const immutable = "public, max-age=31536000, immutable";

/** Sites of ten generators, with rules as their users write them, what tools wrote, and the forms of public sites. */
export const corpus: Readonly<Record<string, CorpusSite>> = {
  ...generated,
  ...forms,
  hugo: {
    files: [
      "index.html",
      "index.xml",
      "404.html",
      "de/index.html",
      "de/404.html",
      "wp-admin/x",
      "css/a.css",
      "posts/a/index.html",
    ],
    answers: {
      "/blog/2019/05/01/hello": ["301 /posts/hello/"],
      "/feed": ["301 /index.xml"],
      "/feed/": ["301 /index.xml"],
      "/category/a/b": ["301 /tags/a/b"],
      "/wp-admin/x": ["404 404.html", { "x-frame-options": "SAMEORIGIN" }],
      "/de/x": ["404 de/404.html"],
      "/nothing": ["404 404.html", { "cache-control": "no-cache" }],
      "/index.xml": ["200 index.xml", { "content-type": "application/rss+xml; charset=utf-8" }],
      "/css/a.css": [
        "200 css/a.css",
        { "cache-control": immutable, "permissions-policy": "interest-cohort=()" },
      ],
    },
  },
  astro: {
    files: [
      "index.html",
      "rss.xml",
      "_astro/index.DK1a2B3c.css",
      "_astro/plain.css",
      "fonts/a.woff2",
      "old-docs/kept.html",
    ],
    answers: {
      "/home?ref=x": ["302 /?ref=x"],
      "/guides/de/start/here": ["308 /de/guides/start/here"],
      "/old-docs/kept.html": ["301 https://v1.docs.example.com/kept.html"],
      "/_astro/plain.css": ["200 _astro/plain.css", { "cache-control": immutable }],
      "/_astro/index.DK1a2B3c.css": ["200 _astro/index.DK1a2B3c.css", { "cache-control": immutable }],
      "/fonts/a.woff2": [
        "200 fonts/a.woff2",
        { "access-control-allow-origin": "*", "cache-control": "public,max-age=604800" },
      ],
      "/": [
        "200 index.html",
        {
          "content-security-policy":
            "default-src 'self'; img-src 'self' data:; script-src 'self' 'sha256-abc='",
        },
      ],
    },
  },
  eleventy: {
    files: ["index.html", "main.css", "search/index.html", "service-worker.js"],
    problems: ["_headers:7", "_redirects:3", "_redirects:4"],
    answers: {
      "/twitter": ["302 https://twitter.com/example"],
      "/a/b.php?x=1": ["301 /gone/?x=1"],
      "/main.css": ["200 main.css", { "cache-control": "public, max-age=360000" }],
      "/service-worker.js": [
        "200 service-worker.js",
        { "cache-control": "max-age=0, no-store, no-cache, must-revalidate", "service-worker-allowed": null },
      ],
      "/api/x": ["404"],
      "/search/": ["200 search/index.html"],
    },
  },
  docusaurus: {
    files: [
      "index.html",
      "docs/intro/index.html",
      "docs/archive/1.x/a/index.html",
      "assets/js/main.1a2b3c4d.js",
    ],
    problems: ["_redirects:5"],
    answers: {
      "/docs": ["302 /docs/intro"],
      "/docs/next/a": ["301 /docs/a"],
      "/docs/1.x/a": ["301 /docs/archive/1.x/a"],
      "/discord?x=1": ["302 https://discord.gg/abc?utm=docs#join"],
      "/docs/intro/": ["200 docs/intro/index.html", { "cache-control": "no-cache" }],
      "/assets/js/main.1a2b3c4d.js": ["200 assets/js/main.1a2b3c4d.js", { "cache-control": immutable }],
    },
  },
  vitepress: {
    files: [
      "index.html",
      "guide/introduction.html",
      "zh/index.html",
      "zh/404.html",
      "assets/app.DEKfSKWO.js",
      "404.html",
    ],
    cleanUrls: true,
    answers: {
      "/guide/what-is-this": ["301 /guide/introduction"],
      "/guide/introduction": ["200 guide/introduction.html", { "x-robots-tag": "all" }],
      "/guide/introduction.html": ["308 /guide/introduction"],
      "/index": ["308 /"],
      "/index/": ["308 /"],
      "/zh/index": ["308 /zh/"],
      "/zh/index?x=1": ["308 /zh/?x=1"],
      "/v1/a/b": ["302 https://v1.example.dev/a/b"],
      "/zh/nothing": ["404 zh/404.html"],
      "/nothing": ["404 404.html"],
      "/assets/app.DEKfSKWO.js": [
        "200 assets/app.DEKfSKWO.js",
        { "cache-control": "max-age=31536000, immutable" },
      ],
    },
  },
  "next-export": {
    files: [
      "index.html",
      "app.html",
      "blog/first-post.html",
      "products/detail.html",
      "404.html",
      "_next/static/chunks/a.js",
    ],
    answers: {
      "/blog/post-1": ["301 /blog/first-post"],
      "/products/7%268": ["302 /products/detail.html?id=7%268"],
      "/app/deep/link": ["200 app.html", { "x-powered-by": "Next.js", "strict-transport-security": null }],
      "/_next/image?url=x": ["404 404.html"],
      "/_next/static/chunks/a.js": [
        "200 _next/static/chunks/a.js",
        { "cache-control": "public,max-age=31536000,immutable" },
      ],
    },
  },
  gatsby: {
    files: ["index.html", "dashboard/index.html", "page-data/app-data.json", "app-2b3c4d5e6f7a8b9c0d1e.js"],
    problems: ["_redirects:3"],
    answers: {
      "/old-page": ["301 /new-page/"],
      "/dashboard/settings": ["200 dashboard/index.html"],
      "/page-data/app-data.json": [
        "200 page-data/app-data.json",
        { "cache-control": "public, max-age=0, must-revalidate" },
      ],
      "/": [
        "200 index.html",
        {
          link: "</webpack-runtime-1a2b3c4d5e6f7a8b9c0d.js>; rel=preload; as=script, </app-2b3c4d5e6f7a8b9c0d1e.js>; rel=preload; as=script",
        },
      ],
      "/app-2b3c4d5e6f7a8b9c0d1e.js": [
        "200 app-2b3c4d5e6f7a8b9c0d1e.js",
        { "cache-control": immutable, link: null },
      ],
    },
  },
  jekyll: {
    files: ["index.html", "about/index.html", "feed.xml"],
    problems: ["_redirects:1"],
    answers: {
      "/2019/a": ["301 /archive/2019/a"],
      "/atom.xml": ["301 /feed.xml"],
      "/%C3%9Cber-mich": ["301 /about/"],
      "/caf%C3%A9": ["301 /about/"],
    },
  },
  mkdocs: {
    files: [
      "index.html",
      "install/index.html",
      "search/search_index.json",
      "assets/javascripts/bundle.d6f25eb3.min.js",
    ],
    problems: ["_headers:3", "_redirects:4"],
    answers: {
      "/en/latest/a/b/": ["302 /a/b/"],
      "/en/stable": ["302 /"],
      "/install.html": ["301 /install/"],
      "/install": ["301 /install/"],
      "/search/search_index.json": [
        "200 search/search_index.json",
        { "cache-control": "public, max-age=300" },
      ],
      "/assets/javascripts/bundle.d6f25eb3.min.js": [
        "200 assets/javascripts/bundle.d6f25eb3.min.js",
        { "cache-control": immutable, "x-robots-tag": null },
      ],
    },
  },
  sveltekit: {
    files: ["200.html", "_app/version.json", "_app/immutable/entry/start.js", "favicon.png"],
    answers: {
      "/signin": ["307 /login"],
      "/": ["200 200.html"],
      "/any/where?x=1": ["200 200.html", { "cache-control": "no-cache" }],
      "/_app/immutable/entry/start.js": [
        "200 _app/immutable/entry/start.js",
        { "cache-control": "public, immutable, max-age=31536000" },
      ],
      "/_app/version.json": ["200 _app/version.json", { "cache-control": "no-cache" }],
    },
  },
};

import type { CorpusSite } from "./corpus.ts";

const immutable = "public, max-age=31536000, immutable";

/** Sites whose `_redirects` and `_headers`, in `corpus/<name>/`, are what these versions of the tools wrote. */
export const generated: Readonly<Record<string, CorpusSite>> = {
  // astro 5.18.2 with @astrojs/netlify 6.6.5; @astrojs/cloudflare 12.6.13 writes the same lines.
  "astro-netlify": {
    files: ["index.html", "about/index.html", "blog/first/index.html"],
    answers: {
      "/old": ["301 /about"],
      "/start": ["302 /"],
      "/ext": ["301 https://example.com/page"],
      // Its target is /blog/*/index.html.
      "/news/first": ["301 /blog/first/index.html"],
      "/blog/first/": ["200 blog/first/index.html"],
    },
  },
  // nitropack 2.13.6, preset netlify-static. Nuxt writes these files with it.
  "nitro-netlify": {
    files: ["index.html", "assets/a.js", "api/data.json", "build/entry.js"],
    answers: {
      "/old": ["302 /new"],
      "/legacy/a/b": ["301 /docs/a/b"],
      "/ext?x=1": ["301 https://example.com/?x=1"],
      "/assets/a.js": ["200 assets/a.js", { "cache-control": immutable }],
      "/api/data.json": ["200 api/data.json", { "access-control-allow-origin": "*" }],
      "/build/entry.js": ["200 build/entry.js", { "cache-control": immutable }],
    },
  },
  // nitropack 2.13.6, preset cloudflare-pages-static: no line feed at the end, and /docs/** as a target.
  "nitro-cloudflare": {
    files: ["index.html", "build/entry.js"],
    answers: {
      "/old": ["307 /new"],
      "/legacy/a/b": ["301 /docs/a/b"],
      "/ext": ["308 https://example.com/"],
      "/build/entry.js": ["200 build/entry.js", { "cache-control": immutable }],
    },
  },
  // @sveltejs/kit 2.70.4 with adapter-netlify 6.0.4: three lines of one header.
  "sveltekit-netlify": {
    files: ["index.html", "favicon.png", "_app/immutable/chunks/BzIzs6_3.js", "_app/version.json"],
    answers: {
      "/signin": ["307 /about"],
      "/favicon.png": ["200 favicon.png", { "x-own": "1", "cache-control": "no-cache" }],
      "/_app/immutable/chunks/BzIzs6_3.js": [
        "200 _app/immutable/chunks/BzIzs6_3.js",
        { "cache-control": "public, immutable, max-age=31536000" },
      ],
    },
  },
  // @sveltejs/kit 2.70.4 with adapter-cloudflare 7.2.9: ! and tabs.
  "sveltekit-cloudflare": {
    files: ["index.html", "about.html", "_app/immutable/entry/app.0875_vig.js", "_app/version.json"],
    cleanUrls: true,
    answers: {
      "/old": ["301 /about"],
      "/about": ["200 about.html"],
      "/_app/version.json": [
        "200 _app/version.json",
        { "cache-control": "no-cache", "x-robots-tag": "noindex" },
      ],
      "/_app/immutable/entry/app.0875_vig.js": [
        "200 _app/immutable/entry/app.0875_vig.js",
        { "cache-control": "public, immutable, max-age=31536000", "x-robots-tag": "noindex" },
      ],
    },
  },
  // @11ty/eleventy 3.1.2: a template that prints the aliases of each page, of which one contains a space.
  "eleventy-template": {
    files: ["index.html", "posts/first/index.html"],
    problems: ["_redirects:2"],
    answers: {
      "/2019/first.html": ["301 /posts/first/"],
      "/posts/first/": ["200 posts/first/index.html"],
    },
  },
  // @sveltejs/adapter-static 3.0.10, which writes neither file: names are hashes, and the folder promises that they are.
  "sveltekit-static": {
    files: ["index.html", "200.html", "_app/immutable/chunks/BzIzs6_3.js", "_app/version.json"],
    answers: {
      "/_app/immutable/chunks/BzIzs6_3.js": [
        "200 _app/immutable/chunks/BzIzs6_3.js",
        { "cache-control": immutable },
      ],
      "/_app/version.json": ["200 _app/version.json", { "cache-control": "no-cache" }],
    },
  },
};

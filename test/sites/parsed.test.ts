import { expect, test } from "bun:test";
import fc from "fast-check";
import { isFingerprinted, parseHeaders } from "../../src/sites/headers-file.ts";
import { PatternTable, parsePattern } from "../../src/sites/path-pattern.ts";
import { locationOf, parseRedirects, pathOf } from "../../src/sites/redirects-file.ts";

const bytes = (text: string) => Buffer.from(text);
const problemsOf = (text: string) =>
  parseRedirects(bytes(text)).problems.map(({ line, why }) => `${line}: ${why}`);
const headerProblems = (text: string) =>
  parseHeaders(bytes(text)).problems.map(({ line, why }) => `${line}: ${why}`);
const headersOf = (text: string, path: string, isOwnHost = false) =>
  Object.fromEntries(parseHeaders(bytes(text)).headers.match(path, { isOwnHost }).values);

test("a line of _redirects that cannot be used is named with its reason, and the others apply", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["/a", "a rule is a path, a target and a status"],
    ["a /b", "a path begins with /"],
    ["/a?x=1 /b", "no query"],
    ["/a*b* /c", "one *"],
    ["/:x/:x /c", "occurs twice"],
    ["/a/* /b/:slug", ":slug, which the path does not have"],
    ["/a /b 418", "a status is one of"],
    ["/a /b 301 Country=de", "conditions"],
    ["/a id=:id /b/:id 301", "depends on the query"],
    ["https://old.example.org/* /b 301", "host name"],
    ["/a //evil.example.org", "write https://"],
    ["/a javascript:alert(1)", "begins with /, or with https://"],
    ["/go/* https://:splat 302", "cannot be in the host"],
    ["/go/* https://example.org:splat 302", "cannot be in the host"],
    ["/a https://user:pw@example.org/", "cannot be in the host"],
    ["/a https://1@example.org/", "no user name"],
    ["/api/* https://api.example.org/:splat 200", "does not fetch"],
    ["/fn/* /.netlify/functions/:splat 200", "does not run functions"],
    ["/a /b 401", "it is 403"],
    ["/a/* /b*c 301", "write :splat"],
    ["/a /b/* 301", "write :splat"],
    ["/a 301", "begins with /, or with https://"],
    ["/a/** /b", "one *"],
    ["/a /node/console/ 200", "belong to the server"],
    ["/a/ /a 301", "to itself"],
    ["/%zz /a", "percent-encoding"],
    ["/a/../b /c", "a .."],
    ["/a /b/../c", "no .."],
    ["/a\0b /c", "control character"],
    [`/${"a".repeat(9000)} /b`, "longer than"],
  ];
  for (const [line, why] of cases) {
    const [problem = "", ...more] = problemsOf(`# first\n${line}\n/fine /ok`);
    expect([line.slice(0, 60), problem, more]).toEqual([line.slice(0, 60), expect.stringContaining(why), []]);
    expect(problem).toStartWith("2: ");
    expect(parseRedirects(bytes(`${line}\n/fine /ok`)).redirects.first("fine")?.value.line).toBe(2);
  }
});

test("files that are too long, too many rules and no text are problems of the file", () => {
  expect(problemsOf("/a /b\n".repeat(100_000))).toEqual([expect.stringMatching(/^0: .*512 KiB/)]);
  expect(problemsOf(Array.from({ length: 5001 }, (_, at) => `/${at} /x`).join("\n"))).toEqual([
    expect.stringMatching(/^5001: there are more than 5000/),
  ]);
  expect(problemsOf("#\n".repeat(10_001))).toEqual([expect.stringMatching(/^10001: .*10000 lines/)]);
  expect(problemsOf(`/${"a/".repeat(33)} /b`)).toEqual([expect.stringContaining("more than 32 names")]);
  expect(parseRedirects(Buffer.from([0xff, 0xfe, 0x41])).problems).toHaveLength(1);
  expect(parseRedirects(bytes("x\n".repeat(5000))).problems).toHaveLength(101);
  expect(parseRedirects(bytes("\uFEFF/a /b\r\n\r\n/c /d # why\r\n")).redirects.rules).toHaveLength(2);
});

test("of all rules the first that matches applies, whatever tree they are in", () => {
  const patterns = ["/a/:x", "/a/b", "/*", "/:y/b", "/a/*", "/a*", "/*.php", "/:p/:q/:r", "/a/b/c"];
  const texts = fc
    .subarray(patterns, { minLength: 1 })
    .chain((some) => fc.shuffledSubarray(some, { minLength: some.length }));
  const paths = fc
    .array(fc.constantFrom("a", "b", "c", "ab", "x.php"), { maxLength: 4 })
    .map((names) => names.join("/"));
  fc.assert(
    fc.property(texts, paths, (some, path) => {
      const table = new PatternTable<string>();
      for (const text of some) {
        const pattern = parsePattern(text, { maxStars: 1 });
        if (typeof pattern === "string") throw new Error(pattern);
        table.add(pattern, text);
      }
      const expected = some.filter((text) => matchesSlowly(text, path));
      expect([path, table.all(path).map(({ value }) => value)]).toEqual([path, expected]);
      expect(table.first(path)?.value).toBe(expected[0]);
    }),
  );
});

/** The same question, answered by a regular expression. */
function matchesSlowly(pattern: string, path: string): boolean {
  const source = pattern
    .replace(/\./g, "\\.")
    .replace(/\/\*$/, "(?:/.*)?")
    .replace(/([^)])\*/, "$1.*")
    .replace(/:\w+/g, "[^/]+");
  return new RegExp(`^${source}$`).test(path === "" ? "" : `/${path}`) || (path === "" && pattern === "/*");
}

test("whatever a visitor sends, a rule leads to its own host and no header is split", () => {
  const { redirects } = parseRedirects(
    bytes("/out/* https://example.org/:splat 302\n/in/* /:splat 302\n/q/:x /s?q=:x#:x\n/f* /:splat 301"),
  );
  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => text !== "");
  const path = fc.tuple(
    fc.constantFrom("out", "in", "q", "f"),
    fc.array(name, { minLength: 1, maxLength: 3 }),
  );
  fc.assert(
    fc.property(path, ([first, names]) => {
      const match = redirects.first(`${first}/${names.join("/")}`);
      if (match === undefined) return;
      const location = locationOf(match.value.target, match.captures(), { base: "/", search: "" });
      expect(location).toMatch(/^[\x21-\x7e]+$/);
      const { origin } = new URL(location ?? "", "http://own.example.org");
      expect(origin).toBe(first === "out" ? "https://example.org" : "http://own.example.org");
    }),
  );
  const slashes = redirects.first("in//evil.example.org");
  expect(slashes && locationOf(slashes.value.target, slashes.captures(), { base: "/", search: "" })).toBe(
    "/evil.example.org",
  );
});

test("rules that would make the search for a rule long are left out, and named", () => {
  // The path `a/a/…` of 32 names leads through the nodes of all of them, about 90,000.
  const hostile = Array.from({ length: 4096 }, (_, at) => {
    const names = Array.from({ length: 12 }, (_, bit) => (at & (1 << bit) ? `:p${bit}` : "a"));
    return `/${names.join("/")}${"/a".repeat(20)} /x`;
  });
  const { redirects, problems } = parseRedirects(bytes([...hostile, "/plain /y", "/blog/:id /z"].join("\n")));
  expect(problems[0]).toMatchObject({ level: "error", why: expect.stringContaining("1000 steps") });
  expect(redirects.rules.length).toBeGreaterThan(10);
  expect(redirects.rules.length).toBeLessThan(1000);
  expect(redirects.first("plain")?.value.line).toBe(4097);
  expect(redirects.first("blog/1")?.value.line).toBe(4098);
  expect(redirects.first("a/".repeat(32))?.value.line).toBe(1);

  // Thousands of names, and of placeholders below different names, are no such rules.
  const many = Array.from({ length: 5000 }, (_, at) => `/${at % 70}/${at}/:x/:y /z`);
  expect(parseRedirects(bytes(many.join("\n"))).problems).toEqual([]);
});

test("rules that would be slow as regular expressions come to an end", () => {
  const text = Array.from({ length: 2000 }, (_, at) => `/:a/:b/:c/:d/:e/:f/:g/x${at}-*y /z`).join("\n");
  const { redirects } = parseRedirects(bytes(text));
  const path = `${Array.from({ length: 7 }, () => "x".repeat(500)).join("/")}/x1999-${"y".repeat(2000)}`;
  // A pattern that backtracks would not come to an end.
  for (let round = 0; round < 100; round += 1) expect(redirects.first(path)?.value.line).toBe(2000);
});

test("blocks of _headers apply in order; a later one replaces, adds to lists and removes", () => {
  const text = `
/*
  X-Frame-Options: DENY
  Link: </a.css>; rel=preload
  Cache-Control: no-cache
  Cache-Control: must-revalidate
  Strict-Transport-Security: max-age=1
/blog/*
  X-Frame-Options: SAMEORIGIN
  Link: </b.css>; rel=preload
  ! Cache-Control
/*.txt
  X-Robots-Tag: noindex
`;
  expect(headersOf(text, "x.html")).toEqual({
    "x-frame-options": "DENY",
    link: "</a.css>; rel=preload",
    "cache-control": "no-cache, must-revalidate",
  });
  expect(headersOf(text, "blog/a.txt", true)).toEqual({
    "x-frame-options": "SAMEORIGIN",
    link: "</a.css>; rel=preload, </b.css>; rel=preload",
    "strict-transport-security": "max-age=1",
    "x-robots-tag": "noindex",
  });
});

test("paths of _headers may have several *, and one that cannot mean what it says is a problem", () => {
  const text = "/themes/*/*.js\n  X-A: 1\n/img/**\n  X-B: 1\n/**/*.css\n  X-C: 1\n/a*b*c*d\n  X-D: 1\n";
  expect(headerProblems(text)).toEqual([]);
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["themes/one/a.js", ["x-a"]],
    ["themes/one/deep/a.js", ["x-a"]],
    ["themes/a.js", []],
    ["img/a/b.png", ["x-b"]],
    ["img/a/b.css", ["x-b", "x-c"]],
    ["x.css", []],
    ["abcd", ["x-d"]],
    ["a-b-b-c-d", ["x-d"]],
    ["acbd", []],
    ["abd", []],
  ];
  for (const [path, names] of cases)
    expect([path, Object.keys(headersOf(text, path))]).toEqual([path, [...names]]);
  expect(headerProblems("/a*b*c*d*e*f\n X-A: 1")).toEqual([expect.stringContaining("4 * at most")]);
  expect(headerProblems("/*.js   Cache-Control: no-cache\n/a:\n X-A: 1\n/b\n/c\n X-A: 1\n/d")).toEqual([
    expect.stringMatching(/^1: .*on the line below/),
    expect.stringMatching(/^2: .*leave it out/),
    expect.stringMatching(/^4: no header is below this path/),
    expect.stringMatching(/^7: no header is below this path/),
  ]);
});

test("no bucket sets what frames an answer, signs anybody in, orders a proxy or concerns the whole host", () => {
  for (const name of [
    ...[
      "Content-Length",
      "Transfer-Encoding",
      "Connection",
      "Content-Encoding",
      "Content-Range",
      "Date",
      "ETag",
    ],
    ...[
      "Last-Modified",
      "Location",
      "WWW-Authenticate",
      "Set-Cookie",
      "Service-Worker-Allowed",
      "Clear-Site-Data",
      "Accept-CH",
      "Critical-CH",
      "Set-Login",
      "Sec-Session-Registration",
    ],
    ...[
      "Alt-Svc",
      "NEL",
      "Report-To",
      "X-Accel-Redirect",
      "X-Sendfile",
      "Access-Control-Allow-Credentials",
      "Basic-Auth",
    ],
  ])
    expect([name, headerProblems(`/*\n ${name}: 1`)]).toEqual([
      name,
      [expect.stringContaining("cannot set it")],
    ]);
  expect(headerProblems("/*\n X-Content-Type-Options: off")).toEqual([expect.stringContaining("nosniff")]);
  expect(headerProblems("/*\n Content-Type: html")).toEqual([expect.stringContaining("media type")]);
  expect(headerProblems("/*\n X-A: ü")).toEqual([expect.stringContaining("ASCII")]);
  expect(headerProblems("/*\n X A: 1")).toEqual([expect.stringContaining("letters, digits and hyphens")]);
  expect(headerProblems("X-A: 1\n/*\n nothing\n X-B:\n")).toEqual([
    expect.stringContaining("needs a line with a path above it"),
    expect.stringContaining("Name: value"),
    expect.stringContaining("has no value"),
  ]);
  expect(headerProblems("https://a.example.org/*\n X-A: 1")).toEqual([expect.stringContaining("host name")]);
  expect(headersOf("/*\n X-A: 1\n Set-Cookie: a", "x")).toEqual({ "x-a": "1" });
});

test("names with a hash of their content are told from names with words and numbers", () => {
  const hashed = `app.3f9a8b2c.js main.8e0b1ce9.chunk.js 2.ce53a5c5.chunk.js.map main.1e989742.min.css bundle.d6f25eb3.min.js
    index-DfKz3bRw.js app.DEKfSKWO.js inter.CqjqNYQ-.woff2 x.By2_1cv3.woff2 logo-B1x2c3D4.svg main-5QXKA2ZB.js chunk-7KQWX3ZA.js
    static/js/main.073c9b0a.js.map framework-2c79e2a64abdb08b.js style.min.4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b.css
    _app/immutable/chunks/entry.Bq8R1x9a.js 5d5d9eefa31e5e13a6610d9fa7a283bb.png about.md.ROK3xhM2.lean.js`;
  for (const name of hashed.split(/\s+/)) expect([name, isFingerprinted(name)]).toEqual([name, true]);
  const plain = `index.html data.3f9a8b2c.json app.3f9a8b2c.html feed.3f9a8b2c.xml guide-3f9a8b2c.pdf app.js sw.js jquery-3.7.1.min.js
    photo-20240131.jpg hero-section2.png chapter12.png font-roboto400.woff2 logo-DarkMode.svg photo-Summer24.jpg device-iPhone15.png
    x-big-pic1.png my-Big-Pic1.png bootstrap.bundle.min.js report-deadbeef.png logo-USAToday.svg img-QueryAPI.png covid19map.png iphone15pro.png
    2024-05-01.png a.css`;
  for (const name of plain.split(/\s+/)) expect([name, isFingerprinted(name)]).toEqual([name, false]);
});

test("values and targets that repeat what a visitor sends cost no more than a short answer", () => {
  const long = "x".repeat(7000);
  // 9,600 headers, and a target that would have 28 MB: a few requests took all time and memory.
  const blocks = Array.from({ length: 200 }, (_, block) =>
    ["/*", ...Array.from({ length: 48 }, (_, at) => `  X-${block}-${at}: <:splat>`)].join("\n"),
  );
  const { headers } = parseHeaders(bytes(blocks.join("\n")));
  const { redirects } = parseRedirects(
    bytes(`/from/:n https://example.org/${":n".repeat(4000)}\n/p/:n /a/:n/:n`),
  );
  for (let asked = 0; asked < 50; asked += 1) {
    const { values } = headers.match(`${long}${asked}`, { isOwnHost: true });
    expect([...values.keys()]).toEqual(["x-0-0", "x-0-1"]);
    const match = redirects.first(`from/${long}${asked}`);
    expect(
      match && locationOf(match.value.target, match.captures(), { base: "/", search: "" }),
    ).toBeUndefined();
    expect(match && pathOf(match.value.target, match.captures())).toBeUndefined();
  }
  const short = redirects.first("p/b");
  expect(short && locationOf(short.value.target, short.captures(), { base: "/", search: "" })).toBe("/a/b/b");
});

import { expect } from "bun:test";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const basicChallenge = 'Basic realm="Node Static WebDAV", charset="UTF-8"';
const bearerChallenge = 'Bearer realm="Node Static WebDAV"';
const chromium =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const safari =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15";

const fetchMetadata = (site: string, mode: string, dest = "empty") => ({
  "user-agent": chromium,
  "sec-fetch-site": site,
  "sec-fetch-mode": mode,
  "sec-fetch-dest": dest,
});

/** Requests whose credentials a browser may have added by itself. */
const fromPages: Readonly<Record<string, Record<string, string>>> = {
  "fetch of the same origin": fetchMetadata("same-origin", "cors"),
  "fetch of the same origin that wants no other": fetchMetadata("same-origin", "same-origin"),
  "an image": fetchMetadata("same-origin", "no-cors", "image"),
  "a script of another site": fetchMetadata("cross-site", "no-cors", "script"),
  "a frame": fetchMetadata("same-origin", "navigate", "iframe"),
  "a window that a page opened": fetchMetadata("same-origin", "navigate", "document"),
  "a link on another site": fetchMetadata("cross-site", "navigate", "document"),
  "a typed address": fetchMetadata("none", "navigate", "document"),
  "Chromium over plain http": { "user-agent": chromium },
  "Firefox over plain http": { "user-agent": firefox },
  "Safari over plain http": { "user-agent": safari },
  "a page of this host over plain http": {
    "user-agent": "davfs2/1.6.1",
    host: "nas:2211",
    origin: "http://nas:2211",
  },
  "a page of this host behind a proxy that tells the host": {
    "user-agent": "davfs2/1.6.1",
    "x-forwarded-host": "nas:2211",
    origin: "http://nas:2211",
  },
  "a page over plain http that hides its origin": { "user-agent": firefox, origin: "null" },
};

/** Requests whose credentials the sender has, and that may be asked for them. */
const programs: Readonly<Record<string, Record<string, string>>> = {
  Windows: { "user-agent": "Microsoft-WebDAV-MiniRedir/10.0.19045" },
  Finder: { "user-agent": "WebDAVFS/3.0.0 (03008000) Darwin/23.4.0 (x86_64)" },
  davfs2: { "user-agent": "davfs2/1.6.1 neon/0.32.2" },
  rclone: { "user-agent": "rclone/v1.65.0", referer: "https://files.example.com/node/static-webdav/site/" },
  cadaver: { "user-agent": "cadaver/0.24 neon/0.33.0" },
  curl: { "user-agent": "curl/8.5.0" },
  "GNOME Files": { "user-agent": "gvfs/1.54.0" },
  Dolphin: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) KHTML/6.3.0 (like Gecko) Konqueror/5 KIO/6.3" },
  "Microsoft Office": {
    "user-agent":
      "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; ms-office)",
  },
  Zotero: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Zotero/7.0.0" },
  "a program on Node": { "user-agent": "node", "sec-fetch-mode": "cors" },
  "an application on Electron": {
    "user-agent": chromium.replace("Chrome", "Notes/1.0 Electron/31.0 Chrome"),
  },
};

/** Pages of other origins and extensions: they send credentials of their own, and their users are not asked. */
const fromElsewhere: Readonly<Record<string, Record<string, string>>> = {
  "a page of another site": { ...fetchMetadata("cross-site", "cors"), origin: "https://elsewhere.example" },
  "a page of the same site": { ...fetchMetadata("same-site", "cors"), origin: "https://www.example.com" },
  "a page of another host over plain http": { "user-agent": firefox, origin: "http://page.test" },
  "a page of another port over plain http": {
    "user-agent": firefox,
    host: "nas:2211",
    origin: "http://nas:8080",
  },
  "an application on Electron or Capacitor": { "user-agent": chromium, origin: "app://obsidian.md" },
  "an extension": fetchMetadata("none", "cors"),
};

async function ask(node: TestNode, headers: Record<string, string>, method = "PROPFIND") {
  const response = await fetch(`${node.url}/node/static-webdav/${node.bucket}/`, { method, headers });
  await response.body?.cancel();
  return response;
}

eachStore(
  "Basic credentials that a browser may have added by itself are refused, and no browser is asked for them",
  async (store) => {
    await using node = await sharedNode(store);
    const { authorization } = await webdavSite(node);
    for (const [who, headers] of Object.entries(fromPages)) {
      for (const method of ["GET", "HEAD", "PROPFIND", "PUT", "DELETE", "MKCOL", "LOCK"])
        for (const more of [{}, { authorization }]) {
          const response = await ask(node, { ...headers, ...more }, method);
          const challenge = response.headers.get("www-authenticate");
          expect([who, method, response.status, challenge]).toEqual([who, method, 401, bearerChallenge]);
        }
      const byBearer = await ask(node, { ...headers, authorization: `Bearer ${node.superToken}` });
      expect([who, byBearer.status, byBearer.headers.get("cache-control")]).toEqual([who, 207, "no-store"]);
    }
  },
);

eachStore("programs sign in with Basic as ever, and are asked for it", async (store) => {
  await using node = await sharedNode(store);
  const { authorization } = await webdavSite(node);
  for (const [who, headers] of Object.entries(programs)) {
    const stranger = await ask(node, headers);
    const challenge = stranger.headers.get("www-authenticate");
    expect([who, stranger.status, challenge]).toEqual([who, 401, basicChallenge]);
    expect([who, (await ask(node, { ...headers, authorization })).status]).toEqual([who, 207]);
  }
});

eachStore("pages of other origins and extensions may send Basic credentials of their own", async (store) => {
  await using node = await sharedNode(store);
  const { authorization } = await webdavSite(node);
  for (const [who, headers] of Object.entries(fromElsewhere)) {
    const stranger = await ask(node, headers);
    const challenge = stranger.headers.get("www-authenticate");
    expect([who, stranger.status, challenge]).toEqual([who, 401, bearerChallenge]);
    expect([who, (await ask(node, { ...headers, authorization })).status]).toEqual([who, 207]);
  }
});

eachStore("Bearer takes both forms of a token, percent-encoded where a header needs it", async (store) => {
  await using node = await sharedNode(store);
  await webdavSite(node);
  const permissions = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  const limits = [{ scopes: [{ static_bucket: node.bucket }], permissions }];
  const username = "[agent]:blåbær";
  const token = await node.newToken(limits, { username, password: "100 % |密碼:" });
  const right = [token, encodeURIComponent(token), encodeURIComponent(`${username}|100 % |密碼:`)];
  for (const text of right)
    expect([text, (await ask(node, { authorization: `Bearer ${text}` })).status]).toEqual([text, 207]);
  expect((await ask(node, { authorization: `bearer  ${token} ` })).status).toBe(207);
  const wrong = [
    `${token}x`,
    encodeURIComponent(`${username}|100 % `),
    token.replace(":", "|"),
    "%",
    ":",
    "x",
  ];
  for (const text of wrong)
    expect([text, (await ask(node, { authorization: `Bearer ${text}` })).status]).toEqual([text, 401]);
});

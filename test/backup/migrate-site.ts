import { utimes } from "node:fs/promises";
import { type DatabaseKind, newDatabase } from "../support/node.ts";
import { type Home, newHome, type Server } from "../support/process.ts";

export const content: Record<string, string> = {
  "index.html": "<h1>Hello</h1>",
  "empty.txt": "",
  "deep/er/é ü.bin": "x".repeat(300_000),
  "copy.html": "<h1>Hello</h1>",
};

export interface Site {
  readonly home: Home;
  readonly token: string;
  configure(files?: string): Promise<void>;
  drop(): Promise<void>;
}

/** A stopped server with two buckets of plain files. */
export async function newSite(kind: DatabaseKind): Promise<Site> {
  const home = await newHome();
  const place = await newDatabase(kind, home.path);
  const configure = (files = "") =>
    home.configure({ databaseKeys: files && `\n[files]\n${files}\n` }, place.url);
  await configure();
  const server = await home.serve();
  const token = server.superToken;
  for (const name of ["site", "other"]) await server.call("static-bucket_create", [token, name, `b/${name}`]);
  for (const [path, body] of Object.entries(content)) await upload(server, token, path, body);
  await dav(server, token, "MKCOL", "nothing in it");
  await dav(
    server,
    token,
    "PROPPATCH",
    "index.html",
    '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><N:note xmlns:N="urn:n">kept</N:note></D:prop></D:set></D:propertyupdate>',
  );
  await server.stop();
  const then = new Date("2020-02-03T04:05:06Z");
  await utimes(home.file("static/b/site/index.html"), then, then);
  await utimes(home.file("static/b/site/deep"), then, then);
  return { home, token, configure, drop: () => place.drop() };
}

export const upload = (server: Server, token: string, path: string, body: string) =>
  server.call("static-bucket-file_upload", { token, name: "site", path, body });

const dav = (server: Server, token: string, method: string, path: string, body?: string) =>
  fetch(`${server.url}/node/static-webdav/site/${encodeURI(path)}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(token).toString("base64")}`, depth: "0" },
    keepalive: false,
    ...(body === undefined ? {} : { body }),
  });

/** The files of the site by HTTP, a folder, the time of another, and a property. */
export async function look(server: Server, token: string) {
  const files: Record<string, string> = {};
  const listed = (await server.call("static-bucket-file_list", { token, name: "site" })) as {
    path: string;
  }[];
  for (const { path } of listed)
    files[path] = await (await fetch(`${server.url}/node/static/site/${encodeURI(path)}`)).text();
  const [note, folder, empty] = await Promise.all([
    dav(server, token, "PROPFIND", "index.html").then((answer) => answer.text()),
    dav(server, token, "PROPFIND", "deep").then((answer) => answer.text()),
    dav(server, token, "PROPFIND", "nothing in it"),
  ]);
  const modified = (text: string) => /getlastmodified[^>]*>([^<]+)/.exec(text)?.[1];
  return {
    files,
    note: /note[^>]*>([^<]+)/.exec(note)?.[1],
    times: [modified(note), modified(folder)],
    empty: empty.status,
  };
}

export const expected = {
  files: content,
  note: "kept",
  times: ["Mon, 03 Feb 2020 04:05:06 GMT", "Mon, 03 Feb 2020 04:05:06 GMT"],
  empty: 207,
};

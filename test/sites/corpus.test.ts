import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkSite } from "../../src/sites/site-rules.ts";
import { eachStore, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { corpus } from "./corpus.ts";

const contentOf = (name: string, file: "_redirects" | "_headers") => {
  const given = file === "_redirects" ? corpus[name]?.redirects : corpus[name]?.headers;
  if (given !== undefined) return Buffer.from(given);
  const path = join(import.meta.dir, "corpus", name, file);
  return existsSync(path) ? readFileSync(path) : undefined;
};

eachStore(
  "sites of generators and the forms of public sites are answered as their authors wrote it",
  async (store) => {
    await using node = await testNode(store);
    for (const [name, { files, answers, problems = [], cleanUrls = false }] of Object.entries(corpus)) {
      await node.call("static-bucket_create", { token: node.superToken, name, clean_urls: cleanUrls });
      const rules = (["_redirects", "_headers"] as const).flatMap((file) => {
        const content = contentOf(name, file);
        return content === undefined ? [] : [[file, content] as const];
      });
      await storedFiles(node, name).write(
        Object.fromEntries([...files.map((path) => [path, path] as const), ...rules]),
      );
      const found = await checkSite({
        read: async (file) => contentOf(name, file),
        isFile: async (path) => files.includes(path),
      });
      const errors = found.filter(({ level }) => level === "error");
      expect([name, errors.map(({ file, line }) => `${file}:${line}`)]).toEqual([name, [...problems]]);
      for (const [path, [expected, headers = {}]] of Object.entries(answers)) {
        const base = `/node/static/${name}`;
        const response = await fetch(`${node.url}${base}${path}`, { redirect: "manual" });
        const location = response.headers.get("location");
        const shown = location?.startsWith(base) ? location.slice(base.length) : location;
        const text = await response.text();
        const got = shown ?? (expected.includes(" ") ? text : "");
        expect([name, path, `${response.status} ${got}`.trim()]).toEqual([name, path, expected]);
        for (const [header, value] of Object.entries(headers))
          expect([name, path, header, response.headers.get(header)]).toEqual([name, path, header, value]);
      }
    }
  },
);

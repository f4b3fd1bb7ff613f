import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import type { TestNode } from "../support/node.ts";

/** Raw response: no redirect is followed, nothing is decompressed. */
export const get = (node: { readonly url: string }, path: string, init: BunFetchRequestInit = {}) =>
  fetch(node.url + path, { redirect: "manual", decompress: false, ...init });

/** Distinct names of assets in a text. */
export const namesIn = (text: string) => [
  ...new Set(text.match(/(?<=["'/])[\w-]+-[a-z0-9]{8}\.(?:js|css)/g)),
];

/** All files that the page refers to, directly or not, as text by name. */
export async function everyFile(node: { readonly url: string }): Promise<Map<string, string>> {
  const names = namesIn(await (await get(node, "/node/console/")).text());
  expect(names.length).toBeGreaterThan(1);
  const found = new Map<string, string>();
  for (const name of names) {
    const answer = await fetch(`${node.url}/node/console/assets/${name}`);
    expect([name, answer.status]).toEqual([name, 200]);
    const text = await answer.text();
    found.set(name, text);
    for (const more of namesIn(text)) if (!names.includes(more)) names.push(more);
  }
  return found;
}

/** Writes a key into the configuration of a running server and reloads it. */
export async function setConsole(node: TestNode, on: boolean): Promise<void> {
  const text = (await readFile(node.configPath, "utf8")).replace(/^console = .*\n/m, "");
  await writeFile(node.configPath, `console = ${on}\n${text}`);
  await node.node.reload();
}

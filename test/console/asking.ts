import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import type { TestNode } from "../support/node.ts";

/** As it is sent: nothing is followed, nothing is unpacked. */
export const get = (node: { readonly url: string }, path: string, init: BunFetchRequestInit = {}) =>
  fetch(node.url + path, { redirect: "manual", decompress: false, ...init });

/** The names of assets in a text, each once. */
export const namesIn = (text: string) => [
  ...new Set(text.match(/(?<=["'/])[\w-]+-[a-z0-9]{8}\.(?:js|css)/g)),
];

/** Every file that the page leads to, by name, as text. */
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

/** Writes the key into the configuration of a server that runs, and has it read again. */
export async function setConsole(node: TestNode, on: boolean): Promise<void> {
  const text = (await readFile(node.configPath, "utf8")).replace(/^console = .*\n/m, "");
  await writeFile(node.configPath, `console = ${on}\n${text}`);
  await node.node.reload();
}

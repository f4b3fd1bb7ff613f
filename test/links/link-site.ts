import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import type { TestNode } from "../support/node.ts";

export interface Made {
  readonly address: string;
  readonly expires: number;
  readonly id?: string;
  readonly host?: string;
  readonly public_address?: string;
}

export const notValid = "404 Not Found: this link is not valid, or its target is gone.\n";

/** The story's bucket, private, with these files, and what it takes to make links to them and to use them. */
export async function linkSite(node: TestNode, files: Record<string, string | Uint8Array>) {
  const site = await siteWith(node, files, { public: false });
  const params = (path: string, more: Record<string, unknown>) => ({
    token: node.superToken,
    name: node.bucket,
    path,
    ...more,
  });
  const make = (path: string, more: Record<string, unknown> = {}) =>
    node.call("static-bucket-file_link", params(path, more)) as Promise<Made>;
  const ask = (address: string, init: RequestInit = {}) =>
    fetch(node.url + address, {
      redirect: "manual",
      ...init,
      headers: { "accept-encoding": "identity", ...init.headers },
    });
  return {
    ...site,
    make,
    /** The error of a link that is not made. */
    refused: (path: string, more: Record<string, unknown>) =>
      node.refused("static-bucket-file_link", params(path, more)),
    ask,
    /** Status of what a link answers, and the header that says why. */
    async whyNot(address: string, init?: RequestInit): Promise<readonly [number, string | null]> {
      const { status, headers } = await ask(address, init);
      return [status, headers.get("x-error-reason")];
    },
    /** Status and text of what a link answers. */
    async answer(address: string, init?: RequestInit): Promise<readonly [number, string]> {
      const response = await ask(address, init);
      return [response.status, await response.text()];
    },
    put: async (
      address: string,
      name: string,
      body: string | ReadableStream | Uint8Array<ArrayBuffer>,
      headers: Record<string, string> = {},
    ) => {
      const response = await ask(address + name, { method: "PUT", body, headers });
      await response.text();
      return response.status;
    },
  };
}

/** Limits of a token in the story's bucket. */
export function inSite({ bucket }: TestNode, ...actions: string[]) {
  return [
    {
      scopes: [{ static_bucket: bucket }],
      permissions: actions.map((action) => ({ static_bucket_file: action })),
    },
  ];
}

/** Waits until an answer is the expected one. */
export async function until(ask: () => Promise<number>, expected: number): Promise<void> {
  const end = Date.now() + 60_000;
  let last = await ask();
  while (last !== expected && Date.now() < end) {
    await Bun.sleep(50);
    last = await ask();
  }
  expect(last).toBe(expected);
}

import { expect } from "bun:test";
import { eachWaitingStore, heldChanges } from "../support/held-changes.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { storedSite } from "../support/stored-site.ts";

/** Each file method that changes something, with a path below `from`. */
const calls: Readonly<Record<string, object>> = {
  "static-bucket-file_upload": { path: "from/new/a.txt", body: "new" },
  "static-bucket-file_delete": { path: "from/a.txt" },
  "static-bucket-file_rename": { from: "from/b.txt", to: "from/c.txt" },
  "static-bucket-file_delete_many": { paths: ["from/a.txt", "from/1", "from/2", "from/3"] },
};

interface Change {
  readonly make: (node: TestNode, key: string) => Promise<unknown>;
  readonly error: { readonly code: number; readonly data: Record<string, unknown> };
}

const asSuper = (node: TestNode, method: string, params: object) =>
  node.call(method, { token: node.superToken, ...params });

const notTheToken = {
  code: 102,
  data: { reason: "invalid_credentials" },
};

/** What may happen to the token or the bucket of a call while it waits. */
const changes: Readonly<Record<string, Change>> = {
  "its token is deleted": {
    make: (node, key) => asSuper(node, "token_delete", { target_token: key }),
    error: notTheToken,
  },
  "its token is deleted by another server": {
    make: (node, key) => node.sql(`DELETE FROM token WHERE token_key = '${key}'`),
    error: notTheToken,
  },
  "its token gets another secret": {
    make: (node, key) => asSuper(node, "token_roll_token_secret", { target_token: key }),
    error: notTheToken,
  },
  "its token loses the permission": {
    make: (node, key) =>
      asSuper(node, "token_edit", {
        target_token: key,
        limit: [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }],
      }),
    error: {
      code: 102,
      data: { reason: "missing_permission", scope: { static_bucket: "site" } },
    },
  },
  "its bucket is deleted": {
    make: (node) => asSuper(node, "static-bucket_delete", { name: "site" }),
    error: {
      code: 105,
      data: { field: "name" },
    },
  },
  "its bucket gets another folder": {
    make: (node) => asSuper(node, "static-bucket_update", { name: "site", path: "elsewhere" }),
    error: {
      code: 999,
      data: { field: "name", reason: "bucket_moved" },
    },
  },
};

/** The replies to all calls, during whose wait `make` is called. */
async function answersAfter(
  node: TestNode,
  site: Awaited<ReturnType<typeof storedSite>>,
  make: Change["make"],
) {
  const permissions = ["read", "write", "delete"].map((action) => ({ static_bucket_file: action }));
  const token = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]);
  return heldChanges(node, site, {
    send: () =>
      Object.entries(calls).map(([method, params]) => node.send(method, { token, name: "site", ...params })),
    meanwhile: () => make(node, token.split(":")[0] ?? ""),
  });
}

for (const [what, { make, error }] of Object.entries(changes))
  eachWaitingStore(`no RPC change is made when ${what} while it waits for its turn`, async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const site = await storedSite(node, { "from/a.txt": "a", "from/b.txt": "b" });
    const before = await site.contents();
    for (const reply of await answersAfter(node, site, make)) expect(reply.error).toMatchObject(error);
    expect(await site.contents()).toEqual(before);
  });

eachWaitingStore("an RPC change is made though its bucket is disabled while it waits", async (store) => {
  await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
  const site = await storedSite(node, { "from/a.txt": "a", "from/b.txt": "b" });
  const replies = await answersAfter(node, site, () =>
    asSuper(node, "static-bucket_update", { name: "site", enable: false }),
  );
  for (const reply of replies) expect(reply.error).toBeUndefined();
  expect(await site.contents()).toEqual({
    "from/": "",
    "from/new/": "",
    "from/new/a.txt": "new",
    "from/c.txt": "b",
  });
});

import { expect } from "bun:test";
import { checkProbe } from "../../src/blobs/blob-store.ts";
import { markStore, readMark } from "../../src/buckets/maintenance/store-identity.ts";
import { eachBlobStore, never } from "../support/blob-stores.ts";
import { objectRows } from "../support/object-rows.ts";

const store = { url: "the store", store: crypto.randomUUID() };

eachBlobStore(
  "a store that another node checks at the same moment is empty, and gets its mark",
  async (blobs) => {
    await using rows = await objectRows("sqlite");
    await blobs.put(checkProbe, { path: "check" }, never);
    const mark = await markStore(rows.database.storeIdentity, blobs, store);
    expect(await readMark(blobs)).toEqual(mark);
  },
);

eachBlobStore(
  "a store with content and without a mark is refused, whatever the size of its content",
  async (blobs) => {
    await using rows = await objectRows("sqlite");
    await blobs.put(Buffer.alloc(checkProbe.length, "x"), { path: "site/file" }, never);
    await expect(markStore(rows.database.storeIdentity, blobs, store)).rejects.toThrow(
      "has content but no owner",
    );
  },
);

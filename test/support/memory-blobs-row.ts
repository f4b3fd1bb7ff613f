import type { BlobKind } from "../../src/blobs/blob-kind.ts";
import { blobKinds } from "../../src/blobs/open-blobs.ts";
import { memoryKind } from "./memory-blobs.ts";

// To be loaded before the program. The row of a kind of the product stands in the table itself.
(blobKinds as BlobKind[]).push(memoryKind);

import type { UploadPart } from "../../db/rows/upload-rows.ts";
import type { StagedFile } from "../file-store.ts";
import type { TreePath } from "../path.ts";

/** StoredPiece is a piece of an upload that survives a crash. */
export interface StoredPiece {
  /** In bytes. */
  readonly size: number;
  /** Set where a piece is a blob; undefined for an empty one. */
  readonly blob?: { readonly key: string; readonly sha256: string } | undefined;
}

/** PieceOfUpload says where a piece belongs. */
export interface PieceOfUpload {
  readonly id: string;
  /** How many bytes of the upload are stored already. */
  readonly offset: number;
  /** The bucket's path in the store, and that of the file; for people and for errors. */
  readonly bucketPath: string;
  readonly path: TreePath;
}

export interface WholeUpload extends Omit<PieceOfUpload, "offset"> {
  /** In bytes. */
  readonly length: number;
  /** Where pieces are blobs, all of them, in their order. */
  readonly parts: readonly UploadPart[];
  /** Whether the hash of the content is wanted, though that may have to be read for it. */
  readonly wantsHash: boolean;
  /** Called as the content is read, which may take long. */
  readonly onProgress: () => void;
}

export interface AssembledFile {
  /** To be placed. Disposing it leaves the pieces as they are, so that the upload can be finished later. */
  readonly staged: StagedFile;
  /** In hexadecimal; set if it was wanted. */
  readonly sha256: string | undefined;
}

/** PartialContents keeps the content of resumable uploads until their files are put in place. Its methods throw a Fault. */
export interface PartialContents {
  /** Stores a piece; what was stored from its offset on before is replaced. NotFound if what was stored before is gone. */
  append(piece: PieceOfUpload, content: AsyncIterable<Uint8Array>): Promise<StoredPiece>;
  /** Makes one file of all pieces. NotFound if one is gone. */
  assemble(upload: WholeUpload): Promise<AssembledFile>;
  /** Deletes the content of an upload; `blobs` are the pieces that were blobs. */
  discard(id: string, blobs: readonly string[]): Promise<void>;
  /** Deletes pieces that were blobs and that no row names any more; the rest of the upload stays. */
  drop(blobs: readonly string[]): Promise<void>;
  /** Deletes content that belongs to no upload any more, and returns of how many. `live` is called once what exists is known. */
  clear(live: () => Promise<ReadonlySet<string>>): Promise<number>;
}

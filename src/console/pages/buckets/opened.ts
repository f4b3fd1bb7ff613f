import type { Bucket } from "../../../client/index.ts";
import type { Door } from "./files/door.ts";

/** An open bucket. */
export interface Opened {
  readonly name: string;
  /** Undefined where the token may not see it. */
  readonly bucket: Bucket | undefined;
  readonly door: Door;
}

import { globally } from "../auth/need.ts";
import { tableSizesFor } from "./node-database.ts";

/** `storage` is the namespace `storage`: the sizes for tokens that may read them and nothing else. */
export const storage = { storage_read: tableSizesFor(globally("node.read_storage")) };

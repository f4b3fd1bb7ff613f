import { methodNotAllowed } from "../content/plain.ts";
import { listAboveBuckets, methodsAboveBuckets } from "./above-buckets.ts";
import { webdavPrefix } from "./dav-path.ts";
import type { FileProtocol } from "./handler.ts";
import { davMethods, verbOf } from "./verbs/index.ts";
import { davCors, options } from "./verbs/options.ts";

/** webdav is RFC 4918 on the files of buckets. */
export const webdav: FileProtocol = {
  name: "webdav",
  prefix: webdavPrefix,
  headers: Object.entries(davCors),
  options,
  verbOf: ({ method }) => verbOf(method),
  above: async (above) =>
    above.request.method === "PROPFIND" ? listAboveBuckets(above) : methodNotAllowed(methodsAboveBuckets),
  methods: davMethods,
};

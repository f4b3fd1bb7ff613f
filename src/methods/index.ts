// This folder declares every method of JSON-RPC once: its params, result, need, documentation and examples, with a
// short body that calls a service. The engine, `rpc.discover`, the documents and the typed client all read these
// declarations. Each file has the methods of one subject, made with `method` and `subscription` of declare.ts. The
// table of this file puts them together; a new file needs a line here, and a new declaration `npm run docs`.

import { anyone } from "../auth/need.ts";
import { RawJson } from "../base/json.ts";
import { build } from "../build.ts";
import { discover, openRpcDocument } from "../rpc/discover.ts";
import type { MethodTable } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { method } from "./declare.ts";
import { deploys } from "./deploys.ts";
import { hooks } from "./hooks.ts";
import { links } from "./links.ts";
import {
  agentUuid,
  cluster,
  nodeAgents,
  nodeCertificates,
  nodeConfig,
  nodeIdentity,
  nodeUpdate,
} from "./node.ts";
import { auditMethods, log, nodeLog } from "./node-log.ts";
import { nodeMetrics } from "./node-metrics.ts";
import { nodeDatabase, nodeSql, storage } from "./node-sql.ts";
import { session } from "./session.ts";
import { bucketFacts, follow, staticBucket, transfers } from "./static-bucket.ts";
import { fileSearch, fileVersions, manyFiles, staticBucketFile } from "./static-bucket-file.ts";
import { token, tokenExplain } from "./token.ts";

const namespaces = {
  ...nodeIdentity,
  ...nodeAgents,
  ...nodeConfig,
  ...nodeLog,
  ...nodeDatabase,
  ...nodeMetrics,
  ...nodeUpdate,
  ...nodeCertificates,
  ...nodeSql,
  ...staticBucket,
  ...bucketFacts,
  ...staticBucketFile,
  ...fileSearch,
  ...fileVersions,
  ...manyFiles,
  ...deploys,
  ...links,
  ...hooks,
  ...transfers,
  ...follow,
  ...agentUuid,
  ...auditMethods,
  ...cluster,
  ...log,
  ...storage,
  ...session,
  ...token,
  ...tokenExplain,
};

/** The OpenRPC document as text: anybody may request it, and serialising it takes about a millisecond of the event loop. */
let document: RawJson | undefined;

/** `methods` are all methods of the product. */
export const methods = {
  ...namespaces,
  "rpc.discover": method({
    doc: "Describes every method as an OpenRPC document.",
    need: anyone,
    effect: "reads",
    params: {},
    result: openRpcDocument,
    example: { params: {}, result: { openrpc: "1.4.1", info: { title: "node-server" }, methods: ["…"] } },
    run: (): RawJson => {
      document ??= new RawJson(JSON.stringify(discover<Services>(methods, build.cargo_version)));
      return document;
    },
  }),
} satisfies MethodTable<Services>;

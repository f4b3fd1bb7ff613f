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
import { agentUuid, nodeAgents } from "./agent-uuid.ts";
import { auditMethods } from "./audit.ts";
import { bucketFacts } from "./bucket-facts.ts";
import { cluster } from "./cluster.ts";
import { method } from "./declare.ts";
import { deploys } from "./deploys.ts";
import { fileSearch } from "./file-search.ts";
import { fileVersions } from "./file-versions.ts";
import { links } from "./links.ts";
import { log } from "./log.ts";
import { nodeCertificates } from "./node-certificates.ts";
import { nodeConfig } from "./node-config.ts";
import { nodeDatabase, storage } from "./node-database.ts";
import { nodeIdentity } from "./node-identity.ts";
import { nodeLog } from "./node-log.ts";
import { nodeMetrics } from "./node-metrics.ts";
import { nodeSql } from "./node-sql.ts";
import { nodeUpdate } from "./node-update.ts";
import { staticBucket } from "./static-bucket.ts";
import { staticBucketFile } from "./static-bucket-file.ts";
import { token } from "./token.ts";
import { tokenExplain } from "./token-explain.ts";
import { transfers } from "./transfers.ts";

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
  ...deploys,
  ...links,
  ...transfers,
  ...agentUuid,
  ...auditMethods,
  ...cluster,
  ...log,
  ...storage,
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

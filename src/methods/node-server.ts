import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anyone, anywhere } from "../auth/need.ts";
import { build } from "../build.ts";
import { method } from "./declare.ts";

const versionRecord = z.object({
  binary_type: z.string(),
  build_time: z.string(),
  cargo_target_triple: z.string(),
  cargo_version: z.string(),
  git_branch: z.string(),
  git_commit_date: z.string(),
  git_commit_message: z.string(),
  git_commit_sha: z.string(),
  rustc_channel: z.string(),
  rustc_commit_date: z.string(),
  rustc_commit_hash: z.string(),
  rustc_llvm_version: z.string(),
  rustc_version: z.string(),
});

export const nodeServer = {
  "node-server_hello": method({
    doc: "Answers a fixed text: the server runs.",
    need: anyone,
    params: {},
    result: z.literal("Node Server Is Running!"),
    run: () => "Node Server Is Running!" as const,
  }),
  "node-server_version": method({
    doc: "Tells what was built, when, and from which commit.",
    need: anyone,
    params: {},
    result: versionRecord,
    run: () => build,
  }),
  "node-server_uuid": method({
    doc: "Tells the server's identity, set by `server_uuid` in the configuration.",
    need: anyone,
    params: {},
    result: z.uuid(),
    run: ({ serverUuid }) => serverUuid,
  }),
  "node-server_list_all_agent_uuid": method({
    doc: "Lists the agents that the token may see, sorted.",
    need: anywhere(...listPermissions),
    params: {},
    result: z.object({ uuids: z.array(z.string()) }),
    replacedBy: "agent-uuid_list_all",
    run: async ({ agents, caller }) => ({ uuids: await agents.visibleTo(caller) }),
  }),
};

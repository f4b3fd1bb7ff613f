import { z } from "zod";
import { anyone, anyToken } from "../auth/need.ts";
import { build } from "../build.ts";
import { method } from "./declare.ts";

const versionRecord = z
  .object({
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
  })
  .meta({ id: "VersionRecord" });

/** Methods of the `node-server` namespace that say which server answers, and for how long it has been running. */
export const nodeIdentity = {
  "node-server_hello": method({
    doc: "Returns a fixed text, to check that the server runs.",
    need: anyone,
    effect: "reads",
    params: {},
    result: z.literal("Node Server Is Running!"),
    example: { params: {}, result: "Node Server Is Running!" },
    run: () => "Node Server Is Running!" as const,
  }),
  "node-server_version": method({
    doc: "Returns the version, the time of the build, and the commit.",
    need: anyone,
    effect: "reads",
    params: {},
    result: versionRecord,
    example: {
      params: {},
      result: {
        binary_type: "node-server",
        build_time: "2026-11-15T02:53:23.055Z",
        cargo_target_triple: "x86_64-unknown-linux-gnu",
        cargo_version: "0.2.0",
        git_branch: "main",
        git_commit_date: "2026-11-15T02:50:00+00:00",
        git_commit_message: "docs: a newcomer's first five minutes",
        git_commit_sha: "38afee6c84fcf48c0edb2466aa4b27d287a59c30",
        rustc_channel: "bun",
        rustc_commit_date: "unknown",
        rustc_commit_hash: "38afee6c84fcf48c0edb2466aa4b27d287a59c30",
        rustc_llvm_version: "d6375c72affe0f70222cdcb45012b10f0bf3a9d5",
        rustc_version: "1.4.4",
      },
    },
    run: () => build,
  }),
  "node-server_uuid": method({
    doc: "Returns the server's UUID, which `server_uuid` in the configuration sets.",
    need: anyone,
    effect: "reads",
    params: {},
    result: z.uuid(),
    example: { params: {}, result: "65d0b837-40a7-49e0-89e1-bba14a18b59f" },
    run: ({ serverUuid }) => serverUuid,
  }),
  "node-server_uptime": method({
    doc: "Returns how long the server has been running, in milliseconds. A self-update resets it.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.int(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: 93784005 },
    run: ({ uptimeMs }) => uptimeMs(),
  }),
};

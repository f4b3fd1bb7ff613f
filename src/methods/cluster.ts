import { z } from "zod";
import { globally } from "../auth/need.ts";
import { method } from "./declare.ts";

const clusterNode = z
  .object({
    uuid: z.string(),
    /** Made at its start. */
    boot: z.string(),
    name: z.string(),
    url: z.string().nullable(),
    version: z.string(),
    since: z.int(),
    last_seen: z.int(),
    alive: z.boolean(),
    ready: z.boolean(),
    files: z.string(),
    processes: z.int(),
  })
  .meta({ id: "ClusterNode" });

const exampleNode = {
  uuid: "65d0b837-40a7-49e0-89e1-bba14a18b59f",
  boot: "0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10",
  name: "node1",
  url: "https://node1.example.com:2211",
  version: "0.2.0",
  since: 1_794_000_000_000,
  last_seen: 1_794_000_360_000,
  alive: true,
  ready: true,
  files: "disk",
  processes: 1,
};

/** `cluster` are the methods about the nodes that use one database. */
export const cluster = {
  cluster_nodes: method({
    doc: "Lists the nodes that use the same database, sorted by name. `answered_by` is the node that answered. Times are Unix milliseconds of the database's clock. `url` is the node's own address, if known. A node is `alive` for 60 s after `last_seen`. A node that disappeared without a proper stop stays in the list for a day. `files` is equal for nodes that share a file store; it is `disk` for plain files, which nodes cannot share. `warnings` have the codes of docs/events.md and the UUIDs of the nodes concerned.",
    need: globally("node.read_nodes"),
    effect: "reads",
    params: {},
    result: z.object({
      answered_by: z.object({ uuid: z.string(), boot: z.string() }),
      nodes: z.array(clusterNode).readonly(),
      warnings: z
        .array(
          z.object({
            event: z.enum(["nodes.same_uuid", "nodes.files_not_shared"]),
            nodes: z.array(z.string()).readonly(),
          }),
        )
        .readonly(),
    }),
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: {
        answered_by: { uuid: exampleNode.uuid, boot: exampleNode.boot },
        nodes: [exampleNode],
        warnings: [],
      },
    },
    run: ({ roster }) => roster.view(),
  }),
};

import { z } from "zod";

const text = z.string();

/** `clusterEvents` are the events of nodes that share a database. */
export const clusterEvents = {
  "nodes.same_uuid": {
    level: "WARN",
    description:
      "Another node that is alive, one of `others`, has the same `server_uuid`: a copied configuration brings it along. Once for each occurrence.",
    fields: z.object({ uuid: text, others: z.array(text) }),
    hidden: [],
  },
  "nodes.files_not_shared": {
    level: "WARN",
    description:
      "Other nodes on the same database, `others`, have another store of files, or all keep plain files, which cannot be shared: each serves its own files. Once for each occurrence.",
    fields: z.object({ others: z.array(text) }),
    hidden: [],
  },
  "links.no_key": {
    level: "WARN",
    description: "The link key can neither be read nor created, so no signed link can be made or used.",
    fields: z.object({}),
    hidden: [],
  },
  "links.other_key": {
    level: "WARN",
    description:
      "The database belongs to another link key than the node has: links that other nodes made do not work on this one, and it makes none while another node runs. Once for each start.",
    fields: z.object({}),
    hidden: [],
  },
} as const;

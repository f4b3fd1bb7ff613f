import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anywhere } from "../auth/need.ts";
import { method } from "./declare.ts";

export const agentUuid = {
  "agent-uuid_list_all": method({
    doc: "Lists the agents that the token may see, sorted. A `List` permission in the scope of one agent shows the agent only if the token holds another permission on it, too.",
    need: anywhere(...listPermissions),
    effect: "reads",
    params: {},
    result: z.array(z.string()),
    example: { params: { token: "<SUPER_TOKEN>" }, result: ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"] },
    run: ({ agents, caller }) => agents.visibleTo(caller),
  }),
};

/** The listing of agents by its name in the `node-server` namespace. */
export const nodeAgents = {
  "node-server_list_all_agent_uuid": method({
    doc: "Lists the agents that the token may see, sorted.",
    need: anywhere(...listPermissions),
    effect: "reads",
    params: {},
    result: z.object({ uuids: z.array(z.string()) }),
    replacedBy: "agent-uuid_list_all",
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { uuids: ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"] },
    },
    run: async ({ agents, caller }) => ({ uuids: await agents.visibleTo(caller) }),
  }),
};

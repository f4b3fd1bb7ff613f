import { z } from "zod";
import { listPermissions } from "../agents/agents.ts";
import { anywhere } from "../auth/need.ts";
import { method } from "./declare.ts";

export const agentUuid = {
  "agent-uuid_list_all": method({
    doc: "Lists the agents that the token may see, sorted. In the scope of one agent, a List permission shows it only beside another permission on it.",
    need: anywhere(...listPermissions),
    params: {},
    result: z.array(z.string()),
    run: ({ agents, caller }) => agents.visibleTo(caller),
  }),
};

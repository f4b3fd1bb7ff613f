import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { key, readBy } from "./key.ts";

const maxDrainSeconds = 3600;

const nodeName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, dots, hyphens and underscores, and begin with a letter or digit",
  );

const nodeUrl = readBy((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Fault(
      "InvalidInput",
      "must begin with https:// (or http://), such as https://node1.example.com:2211",
    );
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new Fault(
      "InvalidInput",
      "must have no user, no password and no options in it: everybody who may list nodes sees it",
    );
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]")
    throw new Fault(
      "InvalidInput",
      "must name an address of this node that others can connect to, not all of its addresses",
    );
  return value.replace(/\/+$/, "");
});

/** `clusterKeys` are about a node among others on the same database. */
export const clusterKeys = {
  node_name: key(
    "text",
    nodeName.optional(),
    "The name of this node in lists of nodes; default: the name of the machine.",
    { example: "node1" },
  ),
  node_url: key(
    "URL",
    nodeUrl.optional(),
    "How operators and other nodes reach this node itself, not the load balancer; default: the address of `ws_listener`, unless that is all addresses (`0.0.0.0`).",
    { example: "https://node1.example.com:2211" },
  ),
  drain_seconds: key(
    "seconds",
    z.int().nonnegative().max(maxDrainSeconds).default(0),
    "How long the server goes on serving before it stops or restarts, while `/node/ready` answers 503, so that a load balancer stops sending requests. Longer than the balancer takes to notice; a second signal ends it.",
    { example: 10 },
  ),
};

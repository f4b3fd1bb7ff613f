import { type TestNode, type TestNodeOptions, testNode } from "../support/node.ts";
import { openRelay } from "../support/relay.ts";
import type { Script } from "./consumer.ts";

/** `show(event)` prints one line for each event, and for entries one line each. */
export const show = `
const show = (event) => {
  if (event.kind === "entries") for (const { message } of event.entries) console.log("-", message);
  else if (event.kind === "connected") console.log(event.again ? "again" : "connected");
  else if (event.kind === "gap") console.log("gap", event.after !== undefined, event.before !== undefined);
  else if (event.kind === "broken") console.log("broken", event.why instanceof client.Unreachable, event.waitMs > 0);
  else console.log("missed", event.count, event.by);
};
`;
export const log_filter = "off,task=info";
export const follow = `${show}
try {
  for await (const event of server.followLog({ log_filter: ${JSON.stringify(log_filter)} })) show(event);
  console.log("ended");
} catch (error) {
  console.log("threw", error.name, error.message);
}
`;

/** A server whose memory keeps what tests log. */
export const keeping = (more = "", options: TestNodeOptions = {}) =>
  testNode({ ...options, logging: `memory_log_filter = "off,task=info"\n${more}` });
export const task = (node: TestNode) => node.node.hub.logger("task");
export const login = ({ url, superToken }: TestNode) => ({ url, token: superToken });
export const relayed = (node: TestNode) => openRelay(Number(new URL(node.url).port));
export const linesOf = (script: Script) => script.stdout.split("\n").filter((line) => line !== "");

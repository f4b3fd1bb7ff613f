import { type Node, openNode } from "../../src/node.ts";
import { sharedConsole, type TestNode, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";

export interface RestartableNode extends TestNode {
  stop(): Promise<void>;
  /** Starts the server again, at the same address with the same configuration and database. */
  start(): Promise<void>;
}

/** Server that can be stopped and started while a browser has its console open. */
export async function restartableNode(): Promise<RestartableNode> {
  const node = await testNode({ top: `ws_listener = "127.0.0.1:${await freePort()}"\n` });
  const { url, configPath, folder } = node;
  let running: Node | undefined = node.node;
  const stop = async () => {
    await running?.close();
    running = undefined;
  };
  const start = async () => {
    running = await openNode({
      configPath,
      workingDirectory: folder,
      env: { RUST_LOG: "off" },
      show: () => {},
      loadConsole: sharedConsole,
    });
  };
  return {
    ...node,
    url,
    stop,
    start,
    async [Symbol.asyncDispose]() {
      await stop();
      await node[Symbol.asyncDispose]();
    },
  };
}

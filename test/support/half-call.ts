import { connect } from "node:net";
import type { WireReply } from "./node.ts";
import { until } from "./until.ts";

/** A call that runs for as long as one likes, because the end of its body is not sent yet. */
export interface HalfCall extends Disposable {
  /** Sends the rest; the answer. */
  finish(): Promise<WireReply>;
}

export async function halfCall(to: { host: string; port: number } | { path: string }): Promise<HalfCall> {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "node-server_hello", id: 1 });
  const head = `POST /jsonrpc HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const socket = connect(to);
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes.toString();
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("connect", resolve).on("error", reject);
  });
  socket.write(head + body.slice(0, 10));
  return {
    async finish() {
      socket.write(body.slice(10));
      const answer = await until("the call is answered", () => {
        const text = /\r\n\r\n(\{.*\})$/s.exec(heard)?.[1];
        if (text === undefined && socket.destroyed) throw new Error("the connection was dropped");
        return text;
      });
      return JSON.parse(answer) as WireReply;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

import { connect, createServer, type Socket } from "node:net";

/** Passes connections on to a server, until it cuts them or falls silent. */
export async function openRelay(port: number) {
  const sockets = new Set<Socket>();
  let isOpen = true;
  let isSilent = false;
  const relay = createServer((near) => {
    if (!isOpen) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => other.destroy());
      // What comes while the relay is silent is lost, as on a network that drops every packet.
      socket.on("data", (bytes) => isSilent || other.write(bytes));
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const address = relay.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    cut() {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
    },
    /** Connections stay open and can be made, and nothing passes through any of them. */
    silence() {
      isSilent = true;
    },
    /** Ends the silence. Connections from before are cut, because bytes of theirs are missing. */
    speak() {
      isSilent = false;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isOpen = true;
    },
    async [Symbol.asyncDispose]() {
      this.cut();
      relay.close();
    },
  };
}

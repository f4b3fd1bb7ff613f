import { FrameReader, textFrame, webSocketHandshake } from "./frame-reader.ts";

export interface Subscribers extends Disposable {
  /** Prints a note if the subscribers missed more than a tenth of so many events: the server drops what they do not read in time. */
  noteMissed(events: number): void;
}

/** Opens so many WebSockets, sends `subscribe` on each, and counts what comes after its answer. */
export async function openSubscribers(port: number, count: number, subscribe: string): Promise<Subscribers> {
  let heard = 0;
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const reader = new FrameReader();
      const subscribed = Promise.withResolvers<void>();
      let answers = 0;
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port,
        socket: {
          open: (own) => void own.write(webSocketHandshake),
          data(own, bytes) {
            const before = answers;
            answers += reader.read(bytes);
            if (before === 0 && answers > 0) own.write(textFrame(subscribe));
            if (answers < 2) return;
            subscribed.resolve();
            heard += answers - Math.max(before, 2);
          },
        },
      });
      await subscribed.promise;
      return socket;
    }),
  );
  return {
    noteMissed(events) {
      if (heard < 0.9 * events * count)
        console.log(`NOTE: ${count} subscribers received ${heard} of ${events * count} log events.`);
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.end();
    },
  };
}

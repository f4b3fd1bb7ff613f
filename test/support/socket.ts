import type { WireReply } from "./node.ts";

export interface Notification {
  readonly method: string;
  readonly params: {
    readonly subscription: string;
    readonly result?: unknown;
    readonly dropped?: number;
    readonly end?: { readonly reason: string };
  };
}

/** A WebSocket client that keeps everything it hears, in order. */
export interface TestSocket extends AsyncDisposable {
  readonly socket: WebSocket;
  /** Resolves with the next message that was not taken yet. */
  next(): Promise<unknown>;
  /** Messages that have come and were not taken. After the answer to a call, everything sent before it has come. */
  readonly untaken: readonly unknown[];
  send(message: string | Uint8Array): void;
  /** One call; other messages that arrive meanwhile stay for `next`. */
  call(method: string, params?: unknown): Promise<WireReply>;
  readonly closed: Promise<{ code: number; reason: string }>;
}

let calls = 0;

export async function openSocket(url: string, path = "/jsonrpc"): Promise<TestSocket> {
  // A certificate of a story is signed by nobody that this process trusts.
  const options = { tls: { rejectUnauthorized: false } };
  const socket = new WebSocket(url.replace(/^http/, "ws") + path, options);
  const heard: unknown[] = [];
  const waiting: Array<(message: unknown) => void> = [];
  const answers = new Map<unknown, (reply: WireReply) => void>();
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error("the WebSocket was refused"));
  });
  socket.onmessage = ({ data }) => {
    const message: unknown = JSON.parse(String(data));
    const id = typeof message === "object" && message !== null && "id" in message ? message.id : undefined;
    const answer = answers.get(id);
    if (answer !== undefined) {
      answers.delete(id);
      answer(message as WireReply);
      return;
    }
    const waiter = waiting.shift();
    if (waiter === undefined) heard.push(message);
    else waiter(message);
  };
  return {
    socket,
    closed,
    untaken: heard,
    next: () =>
      heard.length > 0 ? Promise.resolve(heard.shift()) : new Promise((resolve) => waiting.push(resolve)),
    send: (message) => socket.send(message),
    call(method, params) {
      calls += 1;
      const id = `call-${calls}`;
      const reply = new Promise<WireReply>((resolve) => answers.set(id, resolve));
      socket.send(JSON.stringify({ jsonrpc: "2.0", method, params, id }));
      return reply;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await closed;
    },
  };
}

import { ptr } from "bun:ffi";
import { openLibc } from "../base/local-fs/local-calls.ts";

const unixSocket = 1;
const datagram = 2;
const closeOnExec = 0o2000000;

/** Notifier reports the state of the server to systemd (`Type=notify`, with watchdog). Without systemd it does nothing. */
export interface Notifier {
  ready(): void;
  reloading(work: () => Promise<unknown> | undefined): Promise<void>;
  restarting(): void;
  /** `maxMs` is how long the stop may take, whatever `TimeoutStopSec` of the unit says. */
  stopping(maxMs: number): void;
}

export function openNotifier(env: Readonly<Record<string, string | undefined>>): Notifier {
  const path = env.NOTIFY_SOCKET;
  if (process.platform !== "linux" || path === undefined || path === "") return silent;
  const send = openSocket(path);
  const watchdogMs = Number(env.WATCHDOG_USEC) / 1000;
  const isOurs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid;
  if (watchdogMs > 0 && isOurs) {
    // At once, too: after an update the process goes on with the watchdog's time from before its `execve`.
    send("WATCHDOG=1");
    // Half of the watchdog's time. The timer fires only while the event loop runs.
    setInterval(() => send("WATCHDOG=1"), watchdogMs / 2).unref();
  }
  const reloading = () => send("RELOADING=1");
  return {
    ready: () => send("READY=1\nSTATUS=serving"),
    restarting: reloading,
    stopping: (maxMs) => send(`STOPPING=1\nEXTEND_TIMEOUT_USEC=${Math.ceil(maxMs) * 1000}`),
    async reloading(work) {
      reloading();
      try {
        await work();
      } finally {
        send("READY=1");
      }
    },
  };
}

const silent: Notifier = {
  ready() {},
  restarting() {},
  stopping() {},
  async reloading(work) {
    await work();
  },
};

/** Opens a Unix datagram socket by libc, because Bun has none. */
function openSocket(path: string): (message: string) => void {
  const libc = openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  });
  if (libc === undefined) return () => {};
  const fd = libc.socket(unixSocket, datagram | closeOnExec, 0);
  // A leading `@` means the NUL byte of an abstract address.
  const name = Buffer.from(path.replace(/^@/, "\0"));
  const address = Buffer.concat([Buffer.from([unixSocket, 0]), name]);
  return (message) => {
    const bytes = Buffer.from(message);
    libc.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length);
  };
}

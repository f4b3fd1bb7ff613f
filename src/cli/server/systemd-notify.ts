import { ptr } from "bun:ffi";
import { openLibc } from "../../base/libc.ts";

const unixSocket = 1;
const datagram = 2;
const closeOnExec = 0o2000000;

/** What systemd is told, where it listens: `Type=notify`, with watchdog. Elsewhere nothing happens. */
export interface Notifier {
  ready(): void;
  reloading(work: () => Promise<unknown> | undefined): Promise<void>;
  restarting(): void;
  stopping(): void;
}

export function openNotifier(env: Readonly<Record<string, string | undefined>>): Notifier {
  const path = env.NOTIFY_SOCKET;
  if (process.platform !== "linux" || path === undefined || path === "") return silent;
  const send = openSocket(path);
  const watchdogMs = Number(env.WATCHDOG_USEC) / 1000;
  const isOurs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid;
  // Half the time that systemd waits: a timer that still fires is a server that still turns.
  if (watchdogMs > 0 && isOurs) setInterval(() => send("WATCHDOG=1"), watchdogMs / 2).unref();
  const reloading = () => send("RELOADING=1");
  return {
    ready: () => send("READY=1\nSTATUS=serving"),
    restarting: reloading,
    stopping: () => send("STOPPING=1"),
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

/** The runtime has no Unix datagrams of its own. */
function openSocket(path: string): (message: string) => void {
  const libc = openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  });
  if (libc === undefined) return () => {};
  const fd = libc.socket(unixSocket, datagram | closeOnExec, 0);
  // `@` stands for the NUL of an abstract address.
  const name = Buffer.from(path.replace(/^@/, "\0"));
  const address = Buffer.concat([Buffer.from([unixSocket, 0]), name]);
  return (message) => {
    const bytes = Buffer.from(message);
    libc.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length);
  };
}

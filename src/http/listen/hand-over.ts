import { ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { openLibc } from "../../base/local-fs/local-calls.ts";

// Bun takes the certificates of a listener when it binds, and never again. New ones need a new listener at the same address. One that
// is closed first refuses connections for a moment, and resets those that the kernel has accepted for it. Linux can do better: both
// listen at the same port for a while, and the kernel gives all new connections to the second one.

const socketLevel = 1;
const reusePort = 15;
const acceptsConnections = 30;
const attachFilter = 51;
/** The code of a filter's only instruction: return a number, here the place of the socket that gets the connection. */
const returnNumber = 0x06;
/** An address of IPv6, which is the longest. */
const addressBytes = 28;

/** HandOver passes the connections of one port on to a second listener. */
export interface HandOver {
  /** Lets a second listener bind. */
  share(): void;
  /** Gives all new connections to the listener that was bound last, or back to the first one. */
  to(which: "first" | "last"): void;
}

type Libc = NonNullable<ReturnType<typeof openSockets>>;

/** `handOverOf` prepares a hand-over of a port that one listener of this process has. Undefined where the system cannot do it. */
export function handOverOf(port: number): HandOver | undefined {
  if (process.platform !== "linux") return undefined;
  const libc = openSockets();
  const [first, ...more] = libc === undefined ? [] : listeningAt(libc, port);
  if (libc === undefined || first === undefined || more.length > 0) return undefined;
  return {
    share: () => void libc.setsockopt(first, socketLevel, reusePort, ptr(new Int32Array([1])), 4),
    to(which) {
      // The sockets of a port have their places in the order in which they were bound.
      const instruction = new Uint8Array(8);
      const code = new DataView(instruction.buffer);
      code.setUint16(0, returnNumber, true);
      code.setUint32(4, which === "last" ? 1 : 0, true);
      const filter = new Uint8Array(16);
      const program = new DataView(filter.buffer);
      program.setUint16(0, 1, true);
      program.setBigUint64(8, BigInt(ptr(instruction)), true);
      libc.setsockopt(first, socketLevel, attachFilter, ptr(filter), filter.byteLength);
    },
  };
}

function openSockets() {
  return openLibc({
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
  });
}

/** The sockets of this process that listen at a port, of whichever address. */
function listeningAt(libc: Libc, port: number): number[] {
  const value = new Int32Array(1);
  const address = new Uint8Array(addressBytes);
  const length = new Uint32Array(1);
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => {
      length[0] = 4;
      const isListening =
        libc.getsockopt(fd, socketLevel, acceptsConnections, ptr(value), ptr(length)) === 0 && value[0] === 1;
      if (!isListening) return false;
      length[0] = addressBytes;
      // The family is in the first two bytes; both families of IP have the port in the next two.
      if (libc.getsockname(fd, ptr(address), ptr(length)) !== 0 || !isInternet(address[0])) return false;
      return new DataView(address.buffer).getUint16(2) === port;
    });
}

function isInternet(family: number | undefined): boolean {
  return family === 2 || family === 10;
}

import { WorkerProcess } from "./worker.ts";

export interface InnocentSpec {
  readonly url: string;
  /** The server's process, whose main thread is watched. */
  readonly pid: number;
  /** The loopback address that the client calls from. */
  readonly from: string;
}

/** InnocentReport says how well a server answered one polite client. Times are in milliseconds. */
export interface InnocentReport {
  readonly answers: number;
  /** Answers by HTTP status; 0 counts connections that ended before their answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of single calls. A call that was never answered counts with the time it had waited. */
  readonly p50: number;
  readonly p99: number;
  /** The longest time between two answers, or from the last one to the end. */
  readonly silence: number;
  /** The same without the time in which this client or the server's main thread waited for a processor, or its host kept it from them. */
  readonly netSilence: number;
  /**
   * The most processor time that the server's main thread used between two answers, less the time in which this client waited
   * for a processor itself or the machine's host kept it from both: how long the event loop was kept from this client, whatever
   * else the machine and its host had to do.
   */
  readonly loop: number;
}

/** The address that no attacker of the suite uses. */
const innocentAddress = "127.0.0.7";

/** InnocentClient calls `hello` every 10 ms from a process and an address of its own, until its report is asked for. */
export type InnocentClient = WorkerProcess<InnocentReport>;

/** Starts an innocent client; it has had its first answer when this resolves. */
export function innocentClient(spec: Omit<InnocentSpec, "from">): Promise<InnocentClient> {
  const full: InnocentSpec = { from: innocentAddress, ...spec };
  return new WorkerProcess<InnocentReport>("innocent-client-process.ts", full).ready();
}

import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { AttackReport, AttackSpec } from "./attackers.ts";
import { runWorker } from "./worker-script.ts";

/** Handed to the socket at once; large payloads would otherwise be copied for every connection. */
const pieceBytes = 64 * 1024;

/** How long a stopped attack waits for first answers, if it awaits them. */
const maxAnswerMs = 60_000;

/** One connection of an attack. */
class Attack {
  readonly #closed = Promise.withResolvers<void>();
  readonly #connected = Promise.withResolvers<void>();
  readonly #socket: Socket;
  readonly #first = Promise.withResolvers<void>();
  #over = false;
  #statusLine = "";
  heardBytes = 0;
  readonly #spec: AttackSpec;

  constructor(spec: AttackSpec) {
    this.#spec = spec;
    const { hostname, port } = new URL(spec.url);
    this.#socket = connect({ host: hostname, port: Number(port), localAddress: spec.from });
    this.#socket.on("connect", () => this.#connected.resolve());
    this.#socket.on("data", (bytes: Buffer) => {
      if (this.#statusLine.length < 12) this.#statusLine += bytes.toString("latin1", 0, 12);
      this.heardBytes += bytes.length;
      this.#first.resolve();
    });
    // A refused or reset connection is one of the answers that an attacker may get; `close` follows.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.#over = true;
      this.#connected.resolve();
      this.#first.resolve();
      this.#closed.resolve();
    });
  }

  /** The HTTP status of the first answer; 0 without one. */
  get status(): number {
    return Number(this.#statusLine.slice(9, 12));
  }

  /** Sends the payload as often as the attack says; resolves when the connection has ended or `stopped` is aborted. */
  async run(payload: Buffer, stopped: AbortSignal): Promise<void> {
    const stop = async () => {
      if (this.#spec.awaitsAnswers) await Promise.race([this.#first.promise, Bun.sleep(maxAnswerMs)]);
      this.#socket.destroy();
    };
    stopped.addEventListener("abort", stop);
    try {
      await this.#connected.promise;
      if (this.#spec.handshake !== undefined) {
        this.#socket.write(this.#spec.handshake);
        await this.#first.promise;
      }
      if (!this.#spec.reads) this.#socket.pause();
      const times = this.#spec.times === "endless" ? Number.POSITIVE_INFINITY : this.#spec.times;
      for (let sent = 0; sent < times && !this.#over; sent += 1) await this.#send(payload);
      if (this.#spec.hangsUp === "close") this.#socket.destroy();
      if (this.#spec.hangsUp === "reset") this.#socket.resetAndDestroy();
      await this.#closed.promise;
    } finally {
      stopped.removeEventListener("abort", stop);
    }
  }

  async #send(payload: Buffer): Promise<void> {
    for (let at = 0; at < payload.length && !this.#over; at += pieceBytes) {
      const piece = payload.subarray(at, at + pieceBytes);
      if (!this.#socket.write(piece))
        await Promise.race([
          new Promise((resolve) => this.#socket.once("drain", resolve)),
          this.#closed.promise,
        ]);
      // Answers are read between the pieces.
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

await runWorker<AttackSpec, AttackReport>(async (spec, stopped) => {
  const payloads = spec.payloads.map((path) => readFileSync(path));
  const statuses: Record<string, number> = {};
  let [opened, heardBytes] = [0, 0];
  const attack = async (number: number) => {
    const payload = payloads[number % payloads.length] ?? Buffer.alloc(0);
    do {
      const connection = new Attack(spec);
      opened += 1;
      await connection.run(payload, stopped);
      statuses[connection.status] = (statuses[connection.status] ?? 0) + 1;
      heardBytes += connection.heardBytes;
    } while (spec.returns && !stopped.aborted);
  };
  await Bun.write(Bun.stdout, "ready\n");
  await Promise.all(Array.from({ length: spec.connections }, (_, number) => attack(number)));
  return { opened, heardBytes, statuses };
});

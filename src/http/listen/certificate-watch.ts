import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans } from "../../log/span.ts";
import { certificateState } from "./certificate-state.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** CertificateWatch logs that the certificate of a listener ends soon or has ended: at the start, after a reload, and once a day. */
export class CertificateWatch implements Disposable {
  readonly #expiresAtMs: () => number | undefined;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #timer: Disposable;

  /** `expiresAtMs` is when the present certificate ends; undefined without one. */
  constructor(expiresAtMs: () => number | undefined, log: Logger, clock: Clock) {
    this.#expiresAtMs = expiresAtMs;
    this.#log = log;
    this.#clock = clock;
    this.#timer = outsideSpans(() => clock.every(dayMs, () => this.check()));
    this.check();
  }

  check(): void {
    const at = this.#expiresAtMs();
    if (at === undefined) return;
    const state = certificateState(at, this.#clock.now());
    if (state === undefined) return;
    const event = state.hasExpired ? "certificate.expired" : "certificate.expiring";
    this.#log.event(event, `the certificate ${state.text}`, { expires: state.expires });
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}

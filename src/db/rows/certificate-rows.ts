import { Collection } from "../collection.ts";
import type { Dialect } from "../dialect.ts";

/** `certificateKeysNamespace` is the namespace of private keys, encrypted. A backup leaves its rows out. */
export const certificateKeysNamespace = "tls/keys";

/** NameValue is what the nodes know about the certificate of one host name. Times are Unix milliseconds. */
export interface NameValue {
  /** The certificate in use; undefined before the first one. */
  readonly certificate?: CertificateFacts | undefined;
  /** When it is to be renewed. */
  readonly renew_at?: number | undefined;
  /** When the certificate authority is asked again when it wants the certificate to be renewed (RFC 9773). */
  readonly ask_at?: number | undefined;
  /** When the order under way began; of one that was killed, it is long ago. */
  readonly issuing_since?: number | undefined;
  /** Why the last attempt failed; undefined since one succeeded. */
  readonly problem?: NameProblem | undefined;
  /** True once somebody has asked for a new certificate. */
  readonly asked?: boolean | undefined;
  /** When the latest orders began. */
  readonly orders: readonly number[];
}

/** CertificateFacts are what a certificate says about itself. */
interface CertificateFacts {
  readonly serial: string;
  readonly issuer: string;
  readonly from: number;
  readonly until: number;
}

interface NameProblem {
  readonly reason: string;
  readonly detail: string;
  /** How many attempts of which the certificate authority heard have failed since one succeeded. */
  readonly failures: number;
  /** How many attempts have failed since then before it heard of them, the last ones in a row. */
  readonly waits?: number | undefined;
  readonly at: number;
  readonly retry_at: number;
}

/** ChallengeValue is what a certificate authority wants to read at a host name. */
export interface ChallengeValue {
  readonly answer: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** CertificateRows are what the nodes of a database share to have certificates. */
export class CertificateRows {
  /** By host name. */
  readonly names: Collection<NameValue>;
  /** By token. */
  readonly challenges: Collection<ChallengeValue>;
  /** Encrypted texts, by the name of the file that they would be on a single node. */
  readonly keys: Collection<string>;

  constructor(dialect: Dialect) {
    this.names = new Collection(dialect, "tls/names");
    this.challenges = new Collection(dialect, "tls/challenges");
    this.keys = new Collection(dialect, certificateKeysNamespace);
  }

  /** Changes the row of a name, whichever node changes it at the same time. */
  async change(name: string, change: (value: NameValue) => NameValue): Promise<NameValue> {
    return this.names.exclusively(async (names) => {
      const next = change((await names.get(name)) ?? { orders: [] });
      await names.put(name, next);
      return next;
    });
  }

  /** Removes answers that nobody waits for any more. */
  async clearChallenges(nowMs: number): Promise<void> {
    const old = [...(await this.challenges.list())].filter(([, { until }]) => until < nowMs);
    await this.challenges.delete(...old.map(([token]) => token));
  }
}

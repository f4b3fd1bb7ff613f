import { type Bucket, ClientError } from "../../../client/index.ts";
import type { Session } from "../../session.ts";

/** A bucket as far as the token may know it. */
export interface BucketRecord {
  readonly name: string;
  /** Undefined: there may be one, but this token may not see how it is set. Null: there is none. */
  readonly bucket: Bucket | null | undefined;
}

/** A server takes 1,000 calls in a batch. */
const batchSize = 500;

/** Every bucket for the Super Token, which alone can list them; for others those that their token names. */
export async function loadBuckets({ client, rights }: Session, signal: AbortSignal): Promise<BucketRecord[]> {
  const names = rights.isSuper
    ? await client.call("static-bucket_list", {}, { signal })
    : rights.namedBuckets;
  const readable = names.filter((name) => rights.inBucket(name, { static_bucket: "read" }));
  const known = new Map<string, Bucket | null>();
  for (let at = 0; at < readable.length; at += batchSize) {
    const part = readable.slice(at, at + batchSize);
    const answers = await client.batch(
      part.map((name) => ["static-bucket_read", { name }] as const),
      { signal },
    );
    for (const [index, answer] of answers.entries()) {
      if (answer instanceof ClientError) throw answer;
      known.set(part[index] ?? "", answer);
    }
  }
  return names.map((name) => ({ name, bucket: known.get(name) }));
}

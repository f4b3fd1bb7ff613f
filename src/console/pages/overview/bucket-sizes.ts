import type { MetricFamily } from "../../../client/index.ts";

function samplesOf(families: readonly MetricFamily[], name: string) {
  return families.find((family) => family.name === name)?.samples ?? [];
}

export interface BucketSize {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
}

/** Buckets that were counted, the largest first. */
export function bucketSizes(families: readonly MetricFamily[]): BucketSize[] {
  const files = new Map(
    samplesOf(families, "node_server_bucket_files").map(({ labels, value }) => [labels.bucket, value]),
  );
  return samplesOf(families, "node_server_bucket_bytes")
    .map(({ labels: { bucket: name = "" }, value: bytes }) => ({ name, bytes, files: files.get(name) ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

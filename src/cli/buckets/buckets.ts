import { Fault } from "../../base/fault.ts";
import { type NodeServerClient, PermissionDenied, type ResultOf } from "../../client/index.ts";
import { type CommandRow, command, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { gather, remoteJson, yes } from "../options.ts";
import { webAddress } from "../remote/addresses.ts";
import { connect } from "../remote/remote.ts";
import { reportCertificates } from "../status/certs.ts";
import { confirm } from "../terminal/ask.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import type { Listing } from "../terminal/table.ts";
import { bucketAddress } from "./bucket-address.ts";
import { clone } from "./clone.ts";
import { history, purge, restore } from "./versions.ts";

type Bucket = ResultOf<"static-bucket_create">;

/** Options of the commands that make or change a bucket. `path` says what is used without `--path`. */
const shape = (path: string) =>
  [
    ...remoteJson,
    ["--path <folder>", `its folder below static_path (${path})`],
    ["--root", "serve it at /"],
    ["--cors", "allow pages of other origins to read it (CORS)"],
    ["--private", "only tokens with StaticBucketFile::Read, and signed links, can read its files"],
    ["--public", "anyone can read its files"],
    [
      "--host <name>",
      "a host name that serves it at /, such as docs.example.org; repeatable",
      { parse: gather },
    ],
    ["--clean-urls", "answer /about with about.html"],
  ] as const;

/** The note after `buckets create` that the files of a bucket are public. */
const publicNote = (address: string) => `anyone can read the bucket's files at ${address}, without a token`;

const list = command({
  name: "list",
  summary: "list all buckets",
  needs: ["static-bucket_list"],
  isDefault: true,
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const names = await client.call("static-bucket_list");
    // A bucket that was deleted meanwhile is null and not listed.
    const found = await Promise.all(names.map((name) => client.call("static-bucket_read", { name })));
    const records = found.filter((bucket) => bucket !== null).map(withDefaults);
    return { json: records, table: tableOf(records) };
  },
});

const create = command({
  name: "create <name>",
  summary: "create a bucket",
  needs: ["static-bucket_create"],
  options: shape("default: its name"),
  notes: `\nNote: without --private, ${publicNote("SERVER/node/static/NAME/…")}.`,
  async run({ name, ...options }, ctx) {
    const client = await connect(ctx, options);
    const bucket = await client.call("static-bucket_create", {
      name,
      path: options.path,
      is_http_root: options.root,
      cors: options.cors,
      public: publicOf(options),
      hosts: options.host,
      clean_urls: options.cleanUrls,
    });
    ctx.say(`created the bucket ${name}`);
    reportReaders(ctx, client, bucket);
    await reportCertificates(ctx, client, bucket.hosts ?? []);
    return { json: withDefaults(bucket), text: `${bucketAddress(client, bucket)}\n` };
  },
});

function publicOf({
  private: isPrivate,
  public: isPublic,
}: {
  readonly private?: boolean;
  readonly public?: boolean;
}): boolean | undefined {
  if (isPrivate && isPublic) throw new WrongUsage("give --private or --public, not both");
  return isPrivate ? false : isPublic;
}

function reportReaders(ctx: Context, { url }: NodeServerClient, { name, public: isPublic }: Bucket): void {
  const note = isPublic === false ? privateNote : publicNote(webAddress(url, `/node/static/${name}/…`));
  ctx.say(`note: ${note}`);
}

const privateNote =
  "the bucket is private: reading its files over plain HTTP needs a token with StaticBucketFile::Read, or a signed link";

const show = command({
  name: "show <name>",
  summary: "show one bucket",
  needs: ["static-bucket_read"],
  options: remoteJson,
  async run({ name, ...options }, ctx) {
    const client = await connect(ctx, options);
    const bucket = await client.call("static-bucket_read", { name });
    if (bucket === null) throw new Fault("NotFound", `the server has no bucket ${name}`);
    ctx.say(
      bucket.enable
        ? bucketAddress(client, bucket)
        : `${name} is disabled; \`node-server buckets update ${name} --enable\` enables it`,
    );
    if (bucket.enable) await reportCertificates(ctx, client, bucket.hosts ?? []);
    return outcomeOf(bucket);
  },
});

const update = command({
  name: "update <name>",
  summary: "change a bucket; omitted settings stay",
  needs: ["static-bucket_update"],
  options: [
    ...shape("default: unchanged"),
    ["--no-root", "do not serve it at /"],
    ["--no-cors", "do not allow pages of other origins to read it (CORS)"],
    ["--no-hosts", "remove its host names"],
    ["--no-clean-urls", "answer /about with a file of that name only"],
    ["--enable", "serve it"],
    ["--no-enable", "do not serve it over HTTP and WebDAV"],
  ],
  async run({ name, ...options }, ctx) {
    const { path, root, cors, enable, cleanUrls } = options;
    const changes = {
      path,
      is_http_root: root,
      cors,
      enable,
      public: publicOf(options),
      // Undefined leaves them as they are.
      hosts: options.host ?? (options.hosts ? undefined : []),
      clean_urls: cleanUrls,
    };
    if (Object.values(changes).every((value) => value === undefined))
      throw new WrongUsage(
        "nothing to change: give --private, --public, --host, --no-hosts, --path, --root, --no-root, --cors, --no-cors, --clean-urls, --no-clean-urls, --enable or --no-enable",
      );
    const client = await connect(ctx, options);
    const bucket = await client.call("static-bucket_update", { name, ...changes });
    if (changes.public !== undefined) reportReaders(ctx, client, bucket);
    if (bucket.enable && (changes.hosts !== undefined || enable))
      await reportCertificates(ctx, client, bucket.hosts ?? []);
    return outcomeOf(bucket);
  },
});

const remove = command({
  name: "delete <name>",
  summary: "delete a bucket; its files stay, unless you add --files",
  needs: ["static-bucket_delete"],
  options: [...remoteJson, ["--files", "also delete its files, deploys and history permanently"], yes],
  notes: "\n`node-server rm -r NAME/` deletes all files of a bucket that stays.",
  async run({ name, ...options }, ctx) {
    const client = await connect(ctx, options);
    await confirm(
      ctx,
      options.files
        ? `This deletes the bucket ${name} with ${await sizeOf(client, name)}, all its deploys and its history. This cannot be undone.`
        : `This deletes the record of the bucket ${name}, which is no longer served. Its files stay.`,
      options.yes,
    );
    const result = await client.call("static-bucket_delete", { name, ...(options.files && { files: true }) });
    ctx.say(
      options.files
        ? `deleted the bucket ${name} and its files`
        : `deleted the bucket ${name}; its files stay, and a new bucket with the same path serves them again`,
    );
    return { json: result };
  },
});

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

/** `withDefaults` adds the settings that the server leaves out because they have their default. */
function withDefaults(bucket: Bucket) {
  const { public: isPublic = true, hosts = [], clean_urls = false, ...rest } = bucket;
  return { ...rest, public: isPublic, hosts, clean_urls };
}

function outcomeOf(bucket: Bucket): Outcome {
  const record = withDefaults(bucket);
  return { json: record, table: tableOf([record]) };
}

function tableOf(records: readonly ReturnType<typeof withDefaults>[]): Listing {
  const word = (yes: boolean) => (yes ? "yes" : "no");
  return {
    head: ["NAME", "PATH", "ROOT", "CORS", "ENABLED", "ACCESS", "HOSTS", "CLEAN URLS"],
    rows: records.map(({ name, path, is_http_root, cors, enable, public: isPublic, hosts, clean_urls }) => [
      name,
      path,
      word(is_http_root),
      word(cors),
      word(enable),
      isPublic ? "public" : "private",
      hosts.length === 0 ? "-" : hosts.join(" "),
      word(clean_urls),
    ]),
  };
}

export const buckets: CommandRow = {
  name: "buckets",
  summary: "list, create, change, clone and delete buckets; restore their files",
  commands: [list, create, show, update, remove, clone, history, restore, purge],
};

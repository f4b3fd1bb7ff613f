import { z } from "zod";
import { authorise, inBucket, mayActFor, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { folderPath, type TreePath, treePath, treeRoot, withAncestors } from "../buckets/path.ts";
import type { FileReader } from "../buckets/ports.ts";
import type { Bucket } from "../buckets/record.ts";
import { addressOf } from "../links/link-code.ts";
import { maxLinkSeconds, maxUnlistedSeconds } from "../links/links.ts";
import { method } from "./declare.ts";

const name = z.string().describe("the bucket");
const daySeconds = 86_400;
const defaultSeconds = 7 * daySeconds;
const kind = z.enum(["download", "upload", "zip"]);
/** What is selected is kept in a row of the database. */
const maxPaths = 2000;
/** `maxPathsBytes` is the size of all selected paths of a link. */
export const maxPathsBytes = 64 * 1024;

const maxNoteChars = 500;

/** `links` are the methods about signed links: addresses that open one file, or take files into one folder, without a token. */
export const links = {
  "static-bucket-file_link": method({
    doc: "Makes a signed link: anyone with the address can read one file without a token. With `upload` the link accepts new files into one folder. With `zip` it sends a folder, or the `paths` in it, as a ZIP archive that is made while it is sent. The link ends at `expires` (Unix milliseconds), or when it is revoked by its `id`. It also ends when the token of this call ends, gets another secret or password, or loses the permission. `host` is the bucket's first host name, if it has one: the address works there and at the server's own. Everybody can read the files of a public bucket, so a link to one with a password or a limit is refused (`public_bucket`); `public_address` is where they can.",
    need: ({ name, upload, zip }) => {
      if (zip) return inBucket(name, "static_bucket_file.read", "static_bucket_file.list");
      return inBucket(name, upload ? "static_bucket_file.write" : "static_bucket_file.read");
    },
    secretResult: true,
    effect: "changes",
    warning: "Anyone with the address can use it until it ends.",
    params: {
      name,
      path: z
        .string()
        .describe(
          'the file; with `upload` the folder, which is created when needed; with `zip` the folder (`""`: the whole bucket)',
        ),
      expires_in: z
        .int()
        .min(1)
        .max(maxLinkSeconds)
        .nullish()
        .describe("in seconds, at most 366 days; default: 604,800 (7 days)"),
      max_downloads: z
        .int()
        .min(1)
        .max(1_000_000)
        .nullish()
        .describe("the maximum number of downloads, or with `upload` of files; default: no limit"),
      password: z
        .string()
        .min(1)
        .max(256)
        .nullish()
        .describe("a password that the link asks for")
        .meta({ writeOnly: true }),
      note: z
        .string()
        .trim()
        .min(1)
        .max(maxNoteChars)
        .nullish()
        .describe("what people read on a page before the download, or on the page of a drop box"),
      upload: z
        .boolean()
        .nullish()
        .describe("true: make a drop box, to which files can be added, but not read or replaced"),
      zip: z.boolean().nullish().describe("true: send the folder as a ZIP archive"),
      paths: z
        .array(z.string())
        .min(1)
        .max(maxPaths)
        .nullish()
        .describe(
          "with `zip`: the files and folders to send, relative to the folder, at most 64 KiB in all; default: the whole folder",
        ),
      listed: z
        .boolean()
        .nullish()
        .describe(
          "false: a link for a program that uses it at once. `static-bucket_links` leaves it out, and it is valid for at most a day",
        ),
    },
    logged: ["name", "path", "expires_in", "max_downloads", "upload", "zip", "listed"],
    result: z.object({
      address: z.string(),
      expires: z.int(),
      id: z.string().optional(),
      host: z.string().optional(),
      public_address: z.string().optional(),
    }),
    fails: ["InvalidInput", "NotFound", "IoError"],
    example: {
      params: { token: "<SUPER_TOKEN>", name: "site", path: "hello.txt", expires_in: 3600 },
      result: {
        address: "/node/link/AQABAAAAAWoaK4D4r1kQm2vXc0ZtB9eqJ3c1VvPj0xLq8nZbYg9R/site/hello.txt",
        expires: 1794700000000,
        id: "-K9ZEJtr13NGbQfX",
        public_address: "/node/static/site/hello.txt",
      },
    },
    run: async (
      { buckets, links, caller, audit },
      { name, path, upload, zip, paths, password, ...given },
    ) => {
      const bucket = await buckets.require(name);
      const { reader } = buckets.filesOf(bucket);
      const linkKind = kindOf({ upload, zip, paths });
      const target = linkKind === "download" ? await fileIn(reader, path) : await folderIn(reader, path);
      const selected = linkKind === "zip" ? await selectionIn(reader, target, paths) : undefined;
      const isListed = given.listed ?? true;
      const terms = { maxUses: given.max_downloads ?? undefined, password: password ?? undefined };
      const publicAddress = publicAddressOf(bucket, target);
      if (publicAddress !== undefined && linkKind !== "upload") assertProtects(publicAddress, terms);
      const maxSeconds = isListed ? maxLinkSeconds : maxUnlistedSeconds;
      const { code, expires, id } = await links.make(
        caller,
        { kind: linkKind, bucket, path: target, paths: selected },
        {
          ...terms,
          expiresInSeconds: Math.min(given.expires_in ?? defaultSeconds, maxSeconds),
          note: given.note ?? undefined,
          isListed,
        },
      );
      const link = id === undefined ? {} : { link: id };
      audit("link.made", { bucket: name, path: target, kind: linkKind, expires, ...link });
      const address = addressOf({ code, kind: linkKind, bucket: name, path: target });
      const [host] = bucket.hosts;
      return {
        address,
        expires,
        ...(id === undefined ? {} : { id }),
        ...(host === undefined ? {} : { host }),
        ...(publicAddress === undefined ? {} : { public_address: publicAddress }),
      };
    },
  }),
  "static-bucket_links": method({
    doc: "Lists the unexpired links of a bucket, newest first. A link is `used_up` after its last download, and `ended` if its token was deleted, has got another secret or password, or lost the permission. `downloads` counts how often it was used, `selected` is the number of selected paths, `by` the key of the token that made the link. Times are Unix milliseconds. Links that were made with `listed: false`, or by an older version without a limit, a password or a note, are not listed.",
    need: ({ name }) => inBucket(name, "static_bucket_file.list"),
    effect: "reads",
    params: { name },
    logged: ["name"],
    result: z.array(
      z
        .object({
          id: z.string(),
          kind,
          path: z.string(),
          selected: z.int().optional(),
          by: z.string(),
          created: z.int(),
          expires: z.int(),
          state: z.enum(["valid", "used_up", "ended"]),
          password: z.boolean(),
          note: z.string().optional(),
          max_downloads: z.int().optional(),
          downloads: z.int(),
        })
        .meta({ id: "StoredLink" }),
    ),
    fails: ["NotFound"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: [] },
    run: async ({ buckets, links }, { name }) => {
      const stored = [...(await links.list(await buckets.require(name)))].sort(
        ([, one], [, other]) => other.created - one.created,
      );
      return stored.map(([id, { password, max, used, paths, ...link }]) => ({
        id,
        kind: link.kind,
        path: link.path,
        ...(paths === undefined ? {} : { selected: paths.length }),
        by: link.by,
        created: link.created,
        expires: link.expires,
        state: link.state,
        password: password !== undefined,
        ...(link.note === undefined ? {} : { note: link.note }),
        ...(max === undefined ? {} : { max_downloads: max }),
        downloads: used,
      }));
    },
  }),
  "static-bucket_unlink": method({
    doc: "Revokes one link of a bucket, or without `id` all its links, including those that are not listed. A token may revoke a link that it made. Links of other tokens, and all links together, need `StaticBucket::Write`.",
    need: ({ name, id }) => inBucket(name, id == null ? "static_bucket.write" : "static_bucket_file.read"),
    effect: "destroys",
    warning: "Revoked links no longer work.",
    params: { name, id: z.string().nullish().describe("as `static-bucket_links` returns it") },
    logged: ["name", "id"],
    result: z.object({ success: z.literal(true) }),
    fails: ["NotFound"],
    example: { params: { token: "<SUPER_TOKEN>", name: "site" }, result: { success: true } },
    run: async ({ buckets, links, caller, audit }, { name, id }) => {
      const bucket = await buckets.require(name);
      const bucketId = bucket.id;
      if (id == null) await links.revokeAll(bucketId);
      else {
        const found = (await links.list(bucket)).get(id);
        if (found !== undefined && !mayActFor(caller, found.by))
          authorise(caller, inBucket(name, "static_bucket.write"));
        if (found === undefined || !(await links.revoke({ bucketId, id })))
          throw new Fault("NotFound", `the bucket ${name} has no listed link of this id`, { field: "id" });
      }
      audit("link.revoked", { bucket: name, ...(id == null ? {} : { link: id }) });
      return { success: true as const };
    },
  }),
  "node-server_roll_link_secret": method({
    doc: "Replaces the secret of signed links in the database, and so for all nodes. All links and previews of all buckets end.",
    need: superToken,
    effect: "destroys",
    warning: "All links and previews of all buckets stop working.",
    params: {},
    result: z.object({ success: z.literal(true) }),
    fails: ["IoError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: { success: true } },
    run: async ({ links, audit }) => {
      await links.rollSecret();
      audit("link.secret_rolled", {});
      return { success: true as const };
    },
  }),
};

/** Where everybody can read a file, or the files of a folder, without a link; undefined in a private bucket. */
function publicAddressOf(bucket: Bucket, path: TreePath): string | undefined {
  if (!bucket.public) return undefined;
  return `/node/static/${[bucket.name, ...(path === treeRoot ? [] : path.split("/"))].map(encodeURIComponent).join("/")}`;
}

/** Refuses a password or a limit that would protect nothing. */
function assertProtects(
  address: string,
  { password, maxUses }: { readonly password: string | undefined; readonly maxUses: number | undefined },
): void {
  const field = password !== undefined ? "password" : maxUses !== undefined ? "max_downloads" : undefined;
  if (field === undefined) return;
  const term = field === "password" ? "a password" : "a limit";
  throw new Fault(
    "InvalidInput",
    `${term} protects nothing here, because the bucket is public and everybody can read ${address}; make the bucket private, or make the link without ${term}`,
    { field, reason: "public_bucket", address },
  );
}

async function fileIn(reader: FileReader, path: string): Promise<TreePath> {
  const entry = await reader.find(treePath(path));
  if (entry === undefined) throw new Fault("NotFound", "there is no such file", { field: "path" });
  if (entry.kind === "folder")
    throw new Fault(
      "InvalidInput",
      "a link opens one file, and this is a folder; `zip` makes an archive of it, `upload` a drop box",
      { field: "path", reason: "is_folder" },
    );
  return entry.path;
}

async function folderIn(reader: FileReader, path: string): Promise<TreePath> {
  const folder = folderPath(path);
  const entry = folder === treeRoot ? undefined : await reader.find(folder);
  if (entry?.kind === "file")
    throw new Fault("InvalidInput", "files can be uploaded into a folder, and this is a file", {
      field: "path",
      reason: "is_file",
    });
  return entry?.path ?? folder;
}

interface LinkChoice {
  readonly upload: boolean | null | undefined;
  readonly zip: boolean | null | undefined;
  readonly paths: readonly string[] | null | undefined;
}

function kindOf({ upload, zip, paths }: LinkChoice): "download" | "upload" | "zip" {
  if (upload && zip) throw new Fault("InvalidInput", "give `upload` or `zip`, not both", { field: "zip" });
  if (paths != null && !zip)
    throw new Fault("InvalidInput", "`paths` selects what is in an archive; give `zip` too", {
      field: "paths",
    });
  if (zip) return "zip";
  return upload ? "upload" : "download";
}

/**
 * The folder of an archive must exist, and so must all that is selected in it. Each is named once, and nothing that another one
 * contains.
 */
async function selectionIn(
  reader: FileReader,
  folder: TreePath,
  paths: readonly string[] | null | undefined,
): Promise<readonly string[] | undefined> {
  if (folder !== treeRoot && (await reader.find(folder)) === undefined)
    throw new Fault("NotFound", "there is no such folder", { field: "path" });
  if (paths == null) return undefined;
  const chosen = new Set<TreePath>();
  for (const path of paths) {
    const below = folderPath(path);
    const entry =
      below === treeRoot
        ? undefined
        : await reader.find(treePath(folder === treeRoot ? below : `${folder}/${below}`));
    if (entry === undefined)
      throw new Fault("NotFound", "a path that was selected does not exist in the folder", {
        field: "paths",
        path,
      });
    chosen.add(below);
  }
  const distinct = [...chosen].filter(
    (path) =>
      !withAncestors(path)
        .slice(1)
        .some((above) => chosen.has(above)),
  );
  if (Buffer.byteLength(JSON.stringify(distinct)) > maxPathsBytes)
    throw new Fault(
      "InvalidInput",
      `the paths exceed ${maxPathsBytes} bytes; select folders instead of their contents`,
      {
        field: "paths",
        limit: maxPathsBytes,
      },
    );
  return distinct;
}

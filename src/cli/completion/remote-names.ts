import { atMost } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { openBuckets } from "../buckets/open-buckets.ts";
import type { Context } from "../context.ts";
import { clientFor, findTarget, type RemoteOptions } from "../remote/remote.ts";
import { BucketReader } from "../transfer/remote-tree.ts";

/** Candidate is a word that may be typed next. One that ends with `=` takes a value right after it, one that ends with `/` a name. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Somebody waits for the prompt. */
const maxMs = 1500;

/** Kinds are the names that the server knows, by the name of the argument or option value in the help. */
const kinds = {
  bucket: bucketNames,
  site: bucketNames,
  deploy: deploys,
  key: tokenKeys,
  place: completeLocations,
  places: completeLocations,
  files: completeLocations,
  from: completeLocations,
  to: completeLocations,
} satisfies Readonly<Record<string, List>>;

export type RemoteKind = keyof typeof kinds;

interface NameQuery {
  readonly client: NodeServerClient;
  readonly signal: AbortSignal;
  /** The arguments before the word. */
  readonly args: readonly string[];
  readonly beginning: string;
}

type List = (query: NameQuery) => Promise<Candidate[]>;

export function isRemoteKind(name: string): name is RemoteKind {
  return Object.hasOwn(kinds, name);
}

/**
 * `remoteNames` asks the server that the command would ask, with its token. Nothing is offered, and nothing is said, when the server is
 * slow or away or refuses: the command itself will say so.
 */
export async function remoteNames(
  ctx: Context,
  kind: RemoteKind,
  { options, ...typed }: Pick<NameQuery, "args" | "beginning"> & { readonly options: RemoteOptions },
): Promise<Candidate[]> {
  const stop = new AbortController();
  const ask = async (): Promise<Candidate[]> => {
    const target = await findTarget(ctx, options);
    if (target.token === undefined) return [];
    const client = clientFor(target);
    return kinds[kind]({ ...typed, client, signal: stop.signal });
  };
  const found = await atMost(
    ask().catch(() => []),
    { ms: maxMs, late: [], clock: ctx.clock },
  );
  stop.abort();
  // A word becomes a part of a command line; no shell can quote a line break in the same way as another.
  return found
    .filter(({ word }) => visible(word) === word && !word.startsWith("-"))
    .map(({ word, description }) => ({ word, description: visible(description) }));
}

async function bucketNames({ client }: NameQuery): Promise<Candidate[]> {
  const { names } = await openBuckets(client);
  return names.filter(isPlain).map((word) => ({ word, description: "bucket" }));
}

async function deploys({ client, args: [name = ""] }: NameQuery): Promise<Candidate[]> {
  const found = await client.call("static-bucket_deploy_list", { name });
  return found
    .filter(({ deploy }) => isPlain(deploy))
    .map(({ deploy, state, made_at, note }) => ({
      word: deploy,
      description: [state, new Date(made_at).toISOString(), note].filter((part) => part !== "").join(", "),
    }));
}

async function tokenKeys({ client }: NameQuery): Promise<Candidate[]> {
  const { tokens } = await client.call("token_list_all_tokens");
  return tokens
    .filter(({ token_key }) => isPlain(token_key))
    .map(({ token_key, name, username }) => ({
      word: token_key,
      description: [username, name].filter((part) => part != null).join(", "),
    }));
}

/** Completes `BUCKET/PATH`; the names of buckets and folders end with a slash. Paths of this machine are left to the shell. */
async function completeLocations(query: NameQuery): Promise<Candidate[]> {
  const { client, signal, beginning } = query;
  if (/^[./~]/.test(beginning)) return [];
  if (!beginning.includes("/"))
    return (await bucketNames(query)).map((bucket) => ({ ...bucket, word: `${bucket.word}/` }));
  const [bucket = "", ...names] = beginning.slice(0, beginning.lastIndexOf("/")).split("/");
  const entries = await new BucketReader(client, bucket).list(names.join("/"), { signal });
  return entries.map(({ name, folder }) => ({
    word: `${[bucket, ...names, name].join("/")}${folder ? "/" : ""}`,
    description: folder ? "folder" : "file",
  }));
}

/** Whether no shell has to quote a name. Names of buckets, deploys and tokens are such; a server that is not ours may send others. */
function isPlain(name: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(name);
}

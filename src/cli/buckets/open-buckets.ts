import { toLimits } from "../../auth/limit.ts";
import { type NodeServerClient, PermissionDenied } from "../../client/index.ts";

/** OpenBuckets are the buckets that a token opens. */
interface OpenBuckets {
  readonly names: readonly string[];
  /** Buckets that only the Super Token can list, but whose files the token may use: `docs-*`, or `*` for all. */
  readonly patterns: readonly string[];
}

/** `openBuckets` returns all buckets for the Super Token, for another token those that its limits name. */
export async function openBuckets(client: NodeServerClient): Promise<OpenBuckets> {
  try {
    return { names: await client.call("static-bucket_list"), patterns: [] };
  } catch (error) {
    if (!(error instanceof PermissionDenied) || error.reason !== "missing_permission") throw error;
  }
  const { token_limit } = await client.call("token_get");
  const scopes = toLimits(token_limit)
    .filter(({ permissions }) => permissions.some(({ permission }) => permission.startsWith("static_bucket")))
    .flatMap(({ scopes }) => scopes);
  const named = scopes.flatMap((scope) =>
    scope.in === "global" ? ["*"] : scope.in === "static_bucket" ? [scope.name] : [],
  );
  const all = [...new Set(named)].sort();
  return {
    names: all.filter((name) => !name.endsWith("*")),
    patterns: all.filter((name) => name.endsWith("*")),
  };
}

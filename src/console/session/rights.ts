import {
  type Limit,
  type Methods,
  type Permission,
  type Requirement,
  requirements,
  type Scope,
  type Token,
} from "../../client/index.ts";

/** Rights of a token, so that the console can hide actions that would be refused. The server decides. */
export class Rights {
  readonly #limits: readonly Limit[];

  readonly isSuper: boolean;

  constructor(token: Token) {
    this.isSuper = token.super === true;
    const stored: unknown = token.token_limit;
    // Unreadable limits in the database grant nothing.
    this.#limits = Array.isArray(stored) && stored.every(isLimit) ? stored : [];
  }

  /** Whether the token may call a method, for this bucket or for any; true if that depends on further params. */
  may(method: keyof Methods, bucket?: string): boolean {
    return this.meetsOneOf(requirements[method], bucket);
  }

  meetsOneOf(requirements: readonly Requirement[], bucket?: string): boolean {
    return this.isSuper || requirements.some((requirement) => this.#meets(requirement, bucket));
  }

  #meets(requirement: Requirement, bucket?: string): boolean {
    switch (requirement.kind) {
      case "super":
        return false;
      case "all":
        if (requirement.scope.kind === "global")
          return requirement.permissions.every((permission) => this.globally(permission));
        if (requirement.scope.kind === "static_bucket" && bucket !== undefined)
          return this.inBucket(bucket, ...requirement.permissions);
        return requirement.permissions.every((permission) => this.anywhere(permission));
      case "some":
        return requirement.permissions.some((permission) =>
          bucket === undefined ? this.anywhere(permission) : this.inBucket(bucket, permission),
        );
      case "anywhere":
        return requirement.permissions.some((permission) => this.anywhere(permission));
      default:
        return true;
    }
  }

  /** Whether the token has the permission in scope `global`. */
  globally(permission: Permission): boolean {
    return this.isSuper || this.#any(permission, (scope) => isGlobal(scope));
  }

  /** Whether the token has the permission in any scope. */
  anywhere(permission: Permission): boolean {
    return this.isSuper || this.#any(permission, () => true);
  }

  inBucket(name: string, ...permissions: readonly Permission[]): boolean {
    return (
      this.isSuper ||
      permissions.every((permission) =>
        this.#any(permission, (scope) => isGlobal(scope) || bucketPattern(scope, name)),
      )
    );
  }

  /** Whether the token has all permissions that WebDAV needs, and so do uploads, moves and new folders. */
  overWebdav(name: string): boolean {
    return this.inBucket(name, ...fileActions.map((action): Permission => ({ static_bucket_file: action })));
  }

  /** Whether any limit concerns buckets. */
  get seesBuckets(): boolean {
    return this.isSuper || this.#limits.some(({ permissions }) => permissions.some(isAboutBuckets));
  }

  /** Whether any of the server's own facts may be read: measurements, log, sizes, nodes. */
  get seesServer(): boolean {
    const methods = ["node-server_metrics", "log_list", "storage_read", "cluster_nodes"] as const;
    return methods.some((method) => this.may(method));
  }

  /** The bucket, if all limits about buckets name the same one. */
  get onlyBucket(): string | undefined {
    const scopes = this.#limits.flatMap(({ scopes, permissions }) =>
      permissions.some(isAboutBuckets) ? scopes : [],
    );
    const [first] = scopes;
    const name = first === undefined ? undefined : bucketOf(first);
    const isOne =
      name !== undefined && !name.endsWith("*") && scopes.every((scope) => bucketOf(scope) === name);
    return isOne && !this.isSuper ? name : undefined;
  }

  /** Buckets named in the limits. Only the Super Token can list those that `global` or a `*` covers. */
  get namedBuckets(): readonly string[] {
    const names = this.#limits.flatMap(({ scopes }) => scopes.map(bucketOf));
    return [...new Set(names.filter((name) => name !== undefined && !name.endsWith("*")))].sort() as string[];
  }

  #any(permission: Permission, covers: (scope: Scope) => boolean): boolean {
    const requested = JSON.stringify(permission);
    return this.#limits.some(
      ({ scopes, permissions }) =>
        scopes.some(covers) && permissions.some((granted) => JSON.stringify(granted) === requested),
    );
  }
}

const fileActions = ["read", "write", "delete", "list"] as const;

function isLimit(value: unknown): value is Limit {
  const { scopes, permissions } = (value ?? {}) as Partial<Limit>;
  const isObject = (member: unknown) => typeof member === "object" && member !== null;
  return (
    Array.isArray(scopes) &&
    scopes.every((scope) => scope === "global" || isObject(scope)) &&
    Array.isArray(permissions) &&
    permissions.every(isObject)
  );
}

function isAboutBuckets(permission: Permission): boolean {
  return "static_bucket" in permission || "static_bucket_file" in permission;
}

function isGlobal(scope: Scope): boolean {
  return scope === "global" || "global" in scope;
}

function bucketOf(scope: Scope): string | undefined {
  if (scope === "global") return undefined;
  if ("static_bucket" in scope) return scope.static_bucket;
  return "global_static_bucket" in scope ? scope.global_static_bucket : undefined;
}

function bucketPattern(scope: Scope, name: string): boolean {
  const pattern = bucketOf(scope);
  if (pattern === undefined) return false;
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Scope is where a permission applies. */
export type Scope = { readonly in: "global" } | { readonly in: ScopeName; readonly name: string };

export const scopeNames = ["static_bucket", "agent_uuid", "kv_namespace", "js_worker", "db"] as const;
type ScopeName = (typeof scopeNames)[number];

/** Scopes whose name may end in one `*`, a wildcard for any ending. */
export const wildcardScopes: ReadonlySet<string> = new Set(["static_bucket", "db"]);

type Row = readonly [name: string, verb: string, object: string];

/**
 * The permissions that methods of this server require, each with its name in messages and documents, and as a verb and its object:
 * permissions with the same object become one phrase.
 */
const table = {
  "static_bucket_file.read": ["StaticBucketFile::Read", "read", "files"],
  "static_bucket_file.write": ["StaticBucketFile::Write", "write", "files"],
  "static_bucket_file.delete": ["StaticBucketFile::Delete", "delete", "files"],
  "static_bucket_file.list": ["StaticBucketFile::List", "list", "files"],
  "static_bucket.read": ["StaticBucket::Read", "see", "bucket records"],
  "static_bucket.write": ["StaticBucket::Write", "change", "bucket records"],
  "static_bucket.delete": ["StaticBucket::Delete", "delete", "bucket records"],
  "node.exec_sql": ["Node::ExecSql", "run", "SQL"],
  "node.get_database_type": ["Node::GetDatabaseType", "see", "the kind of database"],
  "node.list_all_agent_uuid": ["Node::ListAllAgentUuid", "list", "agents"],
  "node.read_logs": ["Node::ReadLogs", "read", "logs"],
  "node.read_storage": ["Node::ReadStorage", "read", "table sizes"],
  "node.metrics": ["Node::Metrics", "read", "metrics"],
  "node.read_nodes": ["Node::ReadNodes", "list", "nodes"],
  "monitoring_uuid.list": ["MonitoringUuid::List", "list", "agents"],
  "monitoring_uuid.delete": ["MonitoringUuid::Delete", "delete", "agents"],
  "token.create": ["Token::Create", "create", "tokens"],
  "db.list": ["Db::List", "list", "databases"],
  "db.read": ["Db::Read", "read", "databases"],
  "db.create": ["Db::Create", "create", "databases"],
  "db.update": ["Db::Update", "update", "databases"],
  "db.delete": ["Db::Delete", "delete", "databases"],
  "db.exec_sql": ["Db::ExecSql", "run SQL in", "databases"],
} as const satisfies Readonly<Record<string, Row>>;

/** `family.action`. */
export type Permission = keyof typeof table;

/** `permissionNames` are the names of permissions in messages and documents. */
export const permissionNames = column(([name]) => name);

/** `permissionWords` are the permissions in plain words. */
export const permissionWords = column(([, verb, object]) => [verb, object] as const);

function column<V>(of: (row: Row) => V): Readonly<Record<Permission, V>> {
  return Object.fromEntries(
    Object.entries(table).map(([permission, row]) => [permission, of(row)]),
  ) as Record<Permission, V>;
}

/** Actions of the wider system in a family of ours: stored and granted, but no method here requires them. */
const otherActions = ["node.get_rt_pool", "node.delete_agent_uuid"];

/** Families of the wider system: stored and granted, but no method here requires them. */
export const otherFamilies = [
  "kv",
  "task",
  "crontab",
  "crontab_result",
  "terminal",
  "js_worker",
  "js_result",
  "static_monitoring",
  "dynamic_monitoring",
  "dynamic_monitoring_summary",
] as const;

/** `storedNames` are all permissions of our families that a token may hold. */
export const storedNames: ReadonlySet<string> = new Set([...Object.keys(permissionNames), ...otherActions]);

/**
 * `ownFamilies` are our families with the actions of each. The client and the console get them, with `otherFamilies`, as
 * generated code.
 */
export const ownFamilies: ReadonlyMap<string, readonly string[]> = new Map(
  [...Map.groupBy(storedNames, (name) => name.split(".", 1)[0] ?? "")].map(([family, names]) => [
    family,
    names.map((name) => name.slice(family.length + 1)),
  ]),
);

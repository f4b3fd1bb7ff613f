/** Scope is where a permission applies. */
export type Scope = { readonly in: "global" } | { readonly in: ScopeName; readonly name: string };

export const scopeNames = ["static_bucket", "agent_uuid", "kv_namespace", "js_worker", "db"] as const;
type ScopeName = (typeof scopeNames)[number];

/** Scopes whose name may end in one `*`, a wildcard for any ending. */
export const wildcardScopes: ReadonlySet<string> = new Set(["static_bucket", "db"]);

/** `permissionNames` are the permissions that methods of this server require, with their names in messages and documents. */
export const permissionNames = {
  "static_bucket_file.read": "StaticBucketFile::Read",
  "static_bucket_file.write": "StaticBucketFile::Write",
  "static_bucket_file.delete": "StaticBucketFile::Delete",
  "static_bucket_file.list": "StaticBucketFile::List",
  "static_bucket.read": "StaticBucket::Read",
  "static_bucket.write": "StaticBucket::Write",
  "static_bucket.delete": "StaticBucket::Delete",
  "node.exec_sql": "Node::ExecSql",
  "node.get_database_type": "Node::GetDatabaseType",
  "node.list_all_agent_uuid": "Node::ListAllAgentUuid",
  "node.read_logs": "Node::ReadLogs",
  "node.read_storage": "Node::ReadStorage",
  "node.metrics": "Node::Metrics",
  "node.read_nodes": "Node::ReadNodes",
  "monitoring_uuid.list": "MonitoringUuid::List",
  "monitoring_uuid.delete": "MonitoringUuid::Delete",
  "token.create": "Token::Create",
  "db.list": "Db::List",
  "db.read": "Db::Read",
  "db.create": "Db::Create",
  "db.update": "Db::Update",
  "db.delete": "Db::Delete",
  "db.exec_sql": "Db::ExecSql",
} as const;

/** `family.action`. */
export type Permission = keyof typeof permissionNames;

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

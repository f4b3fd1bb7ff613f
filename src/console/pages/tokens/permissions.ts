import { otherPermissionFamilies, type Permission, type permissionFamilies } from "../../../client/index.ts";

/** Families whose actions have checkboxes. The server declares them; only their labels are here. */
type KnownFamily = keyof typeof permissionFamilies;
type Actions<F extends KnownFamily> = (typeof permissionFamilies)[F][number];

interface Family<F extends KnownFamily> {
  readonly title: string;
  /** Labels by action. */
  readonly actions: Readonly<Record<Actions<F>, string>>;
}

const table: { readonly [F in KnownFamily]: Family<F> } = {
  static_bucket_file: {
    title: "Files",
    actions: { read: "read", write: "write", delete: "delete", list: "list" },
  },
  static_bucket: {
    title: "Buckets",
    actions: { read: "see the record", write: "create and change", delete: "delete" },
  },
  node: {
    title: "Server",
    actions: {
      exec_sql: "run SQL",
      get_database_type: "see the kind of database",
      list_all_agent_uuid: "list agents",
      read_logs: "read the log",
      read_storage: "see the size of the tables",
      metrics: "read the metrics",
      read_nodes: "list the nodes",
      delete_agent_uuid: "delete agents (wider system)",
      get_rt_pool: "see the runtime pool (wider system)",
    },
  },
  monitoring_uuid: { title: "Monitoring", actions: { list: "list agents", delete: "delete" } },
  token: { title: "Tokens", actions: { create: "create" } },
  db: {
    title: "Databases",
    actions: {
      list: "list",
      read: "read",
      create: "create",
      update: "update",
      delete: "delete",
      exec_sql: "run SQL",
    },
  },
};

export interface FamilyView {
  readonly name: string;
  readonly title: string;
  readonly actions: ReadonlyArray<{ readonly permission: Permission; readonly label: string }>;
}

export const families: readonly FamilyView[] = Object.entries(table).map(([name, { title, actions }]) => ({
  name,
  title,
  actions: Object.entries(actions).map(([action, label]) => ({
    permission: { [name]: action } as Permission,
    label,
  })),
}));

const known = families.flatMap(({ actions }) => actions.map(({ permission }) => permission));

/** Whether the permission has a checkbox. */
export function isKnown(permission: Permission): boolean {
  return known.some((one) => isSame(one, permission));
}

export function isSame(one: Permission, other: Permission): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function isPermission(json: unknown): json is Permission {
  const [family, what, ...more] = onlyMember(json);
  if (family === undefined || more.length > 0) return false;
  if (isKnown({ [family]: what } as Permission)) return true;
  if (!otherPermissionFamilies.some((other) => other === family)) return false;
  if (typeof what === "string") return what !== "";
  const [action, pattern] = onlyMember(what);
  return action !== undefined && action !== "" && typeof pattern === "string";
}

/** Name and value of an object with exactly one member; otherwise empty. */
export function onlyMember(json: unknown): [] | [name: string, value: unknown] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  const members = Object.entries(json);
  return members.length === 1 && members[0] !== undefined ? members[0] : [];
}

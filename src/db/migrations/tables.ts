/** Type is a logical column type; each database has its own name for it. */
type Type = "big" | "int" | "small" | "str" | "json" | "uuid" | "bool" | "bin";

interface Column {
  readonly type: Type;
  readonly nullable: boolean;
  /** The default as SQL text. */
  readonly defaultValue?: string;
}

interface Index {
  readonly on: readonly string[];
  readonly unique?: boolean;
  readonly where?: string;
}

interface Table {
  /** The columns after `id`, which every table has. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly indexes: readonly Index[];
}

const required = (type: Type, defaultValue?: string): Column => ({
  type,
  nullable: false,
  ...(defaultValue === undefined ? {} : { defaultValue }),
});
const nullable = (type: Type, defaultValue?: string): Column => ({
  type,
  nullable: true,
  ...(defaultValue === undefined ? {} : { defaultValue }),
});

function each(names: string, column: Column): Record<string, Column> {
  return Object.fromEntries(names.split(" ").map((name) => [name, column]));
}

const index = (...on: string[]): Index => ({ on });
const unique = (...on: string[]): Index => ({ on, unique: true });

/** `firstTables` are the 13 business tables as the first migration creates them. Frozen: later changes are later migrations. */
const firstTables: Readonly<Record<string, Table>> = {
  monitoring_uuid: {
    columns: { uuid: required("uuid"), soft_delete: required("bool", "false") },
    indexes: [unique("uuid")],
  },
  static_monitoring: {
    columns: {
      uuid_id: required("int"),
      timestamp: required("big"),
      ...each("cpu_data system_data gpu_data", required("json")),
      data_hash: required("bin"),
      storage_time: nullable("big"),
    },
    indexes: [index("uuid_id", "timestamp"), unique("uuid_id", "data_hash"), index("storage_time")],
  },
  dynamic_monitoring: {
    columns: {
      uuid_id: required("int"),
      timestamp: required("big"),
      ...each("cpu_data ram_data load_data system_data disk_data network_data gpu_data", required("json")),
      storage_time: nullable("big"),
    },
    indexes: [index("uuid_id", "timestamp"), index("storage_time")],
  },
  dynamic_monitoring_summary: {
    columns: {
      uuid_id: required("int"),
      timestamp: required("big"),
      ...each("cpu_usage gpu_usage", nullable("small")),
      ...each("used_swap total_swap used_memory total_memory available_memory", nullable("big")),
      ...each("load_one load_five load_fifteen", nullable("small")),
      uptime: nullable("int"),
      boot_time: nullable("big"),
      process_count: nullable("int"),
      ...each("total_space available_space read_speed write_speed", nullable("big")),
      ...each("tcp_connections udp_connections", nullable("int")),
      ...each("total_received total_transmitted transmit_speed receive_speed storage_time", nullable("big")),
    },
    indexes: [index("uuid_id", "timestamp"), index("storage_time")],
  },
  task: {
    columns: {
      uuid: required("uuid"),
      token: required("str"),
      cron_source: nullable("str"),
      timestamp: nullable("big"),
      success: nullable("bool", "false"),
      error_message: nullable("str"),
      task_event_type: required("json"),
      task_event_result: nullable("json"),
    },
    indexes: [index("uuid", "timestamp"), index("cron_source")],
  },
  token: {
    columns: {
      version: required("int", "1"),
      token_key: required("str"),
      token_hash: required("str"),
      time_stamp_from: nullable("big"),
      time_stamp_to: nullable("big"),
      token_limit: required("json"),
      username: nullable("str"),
      password_hash: nullable("str"),
    },
    indexes: [unique("token_key"), unique("username")],
  },
  kv: {
    columns: { namespace: required("str"), key: required("str"), value: required("json") },
    indexes: [unique("namespace", "key")],
  },
  crontab: {
    columns: {
      name: required("str"),
      enable: required("bool"),
      cron_expression: required("str"),
      cron_type: required("json"),
      last_run_time: nullable("big"),
    },
    indexes: [unique("name")],
  },
  crontab_result: {
    columns: {
      cron_id: required("big"),
      cron_name: required("str"),
      relative_id: nullable("big"),
      run_time: nullable("big"),
      success: nullable("bool"),
      message: nullable("str"),
    },
    indexes: [index("cron_id"), index("cron_name"), index("relative_id"), index("run_time desc")],
  },
  js_worker: {
    columns: {
      name: required("str"),
      description: nullable("str"),
      js_script: required("str"),
      js_byte_code: nullable("bin"),
      route_name: nullable("str"),
      env: nullable("json"),
      runtime_clean_time: nullable("big"),
      ...each("create_at update_at", required("big")),
      ...each("max_run_time max_stack_size max_heap_size", nullable("big")),
    },
    indexes: [unique("name"), unique("route_name")],
  },
  js_result: {
    columns: {
      js_worker_id: required("big"),
      js_worker_name: required("str"),
      run_type: required("str"),
      ...each("start_time finish_time", nullable("big")),
      ...each("param result", nullable("json")),
      error_message: nullable("str"),
    },
    indexes: [index("js_worker_id"), index("js_worker_name", "start_time desc")],
  },
  static_file: {
    columns: {
      name: required("str"),
      path: required("str"),
      ...each("is_http_root cors", required("bool", "false")),
      enable: nullable("bool", "true"),
    },
    indexes: [unique("name"), { on: ["is_http_root"], unique: true, where: "is_http_root" }],
  },
  db_registry: {
    columns: {
      name: required("str"),
      db_connections: nullable("int", "0"),
      max_lifetime_ms: nullable("big"),
      created_at: required("big"),
    },
    indexes: [unique("name")],
  },
};

/** `businessTables` are the names of the tables that hold the server's data. */
export const businessTables: readonly string[] = Object.keys(firstTables);

/** ColumnTypes are the names of the logical types in one database. */
export interface ColumnTypes {
  readonly id: string;
  readonly types: Readonly<Record<Type, string>>;
}

export function createStatements(columnTypes: ColumnTypes): string[] {
  return Object.entries(firstTables).flatMap(([name, table]) => {
    const columns = Object.entries(table.columns).map(([column, { type, nullable, defaultValue }]) =>
      [
        `"${column}"`,
        columnTypes.types[type],
        nullable ? "" : "NOT NULL",
        defaultValue === undefined ? "" : `DEFAULT ${defaultValue}`,
      ]
        .filter((word) => word !== "")
        .join(" "),
    );
    const indexes = table.indexes.map(({ on, unique, where }) => {
      const label = `idx_${name}_${on.map((column) => column.replace(" ", "_")).join("_")}`;
      const list = on.map((column) => column.replace(/^\w+/, '"$&"')).join(", ");
      return `CREATE ${unique ? "UNIQUE " : ""}INDEX "${label}" ON "${name}" (${list})${where === undefined ? "" : ` WHERE ${where}`}`;
    });
    return [`CREATE TABLE "${name}" ("id" ${columnTypes.id}, ${columns.join(", ")})`, ...indexes];
  });
}

/** Logical types; each database spells them in its own way. */
type Type = "big" | "int" | "small" | "str" | "json" | "uuid" | "bool" | "bin";

export interface Column {
  readonly type: Type;
  readonly nullable: boolean;
  readonly standard?: string;
}

export interface Index {
  readonly on: readonly string[];
  readonly unique?: boolean;
  readonly where?: string;
}

export interface Table {
  /** After `id`, which every table has. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly indexes: readonly Index[];
}

const must = (type: Type, standard?: string): Column => ({
  type,
  nullable: false,
  ...(standard === undefined ? {} : { standard }),
});
const may = (type: Type, standard?: string): Column => ({
  type,
  nullable: true,
  ...(standard === undefined ? {} : { standard }),
});

function each(names: string, column: Column): Record<string, Column> {
  return Object.fromEntries(names.split(" ").map((name) => [name, column]));
}

const index = (...on: string[]): Index => ({ on });
const unique = (...on: string[]): Index => ({ on, unique: true });

/** The 13 business tables as the first migration makes them. Frozen: later changes are later migrations. */
export const firstTables: Readonly<Record<string, Table>> = {
  monitoring_uuid: {
    columns: { uuid: must("uuid"), soft_delete: must("bool", "false") },
    indexes: [unique("uuid")],
  },
  static_monitoring: {
    columns: {
      uuid_id: must("int"),
      timestamp: must("big"),
      ...each("cpu_data system_data gpu_data", must("json")),
      data_hash: must("bin"),
      storage_time: may("big"),
    },
    indexes: [index("uuid_id", "timestamp"), unique("uuid_id", "data_hash"), index("storage_time")],
  },
  dynamic_monitoring: {
    columns: {
      uuid_id: must("int"),
      timestamp: must("big"),
      ...each("cpu_data ram_data load_data system_data disk_data network_data gpu_data", must("json")),
      storage_time: may("big"),
    },
    indexes: [index("uuid_id", "timestamp"), index("storage_time")],
  },
  dynamic_monitoring_summary: {
    columns: {
      uuid_id: must("int"),
      timestamp: must("big"),
      ...each("cpu_usage gpu_usage", may("small")),
      ...each("used_swap total_swap used_memory total_memory available_memory", may("big")),
      ...each("load_one load_five load_fifteen", may("small")),
      uptime: may("int"),
      boot_time: may("big"),
      process_count: may("int"),
      ...each("total_space available_space read_speed write_speed", may("big")),
      ...each("tcp_connections udp_connections", may("int")),
      ...each("total_received total_transmitted transmit_speed receive_speed storage_time", may("big")),
    },
    indexes: [index("uuid_id", "timestamp"), index("storage_time")],
  },
  task: {
    columns: {
      uuid: must("uuid"),
      token: must("str"),
      cron_source: may("str"),
      timestamp: may("big"),
      success: may("bool", "false"),
      error_message: may("str"),
      task_event_type: must("json"),
      task_event_result: may("json"),
    },
    indexes: [index("uuid", "timestamp"), index("cron_source")],
  },
  token: {
    columns: {
      version: must("int", "1"),
      token_key: must("str"),
      token_hash: must("str"),
      time_stamp_from: may("big"),
      time_stamp_to: may("big"),
      token_limit: must("json"),
      username: may("str"),
      password_hash: may("str"),
    },
    indexes: [unique("token_key"), unique("username")],
  },
  kv: {
    columns: { namespace: must("str"), key: must("str"), value: must("json") },
    indexes: [unique("namespace", "key")],
  },
  crontab: {
    columns: {
      name: must("str"),
      enable: must("bool"),
      cron_expression: must("str"),
      cron_type: must("json"),
      last_run_time: may("big"),
    },
    indexes: [unique("name")],
  },
  crontab_result: {
    columns: {
      cron_id: must("big"),
      cron_name: must("str"),
      relative_id: may("big"),
      run_time: may("big"),
      success: may("bool"),
      message: may("str"),
    },
    indexes: [index("cron_id"), index("cron_name"), index("relative_id"), index("run_time desc")],
  },
  js_worker: {
    columns: {
      name: must("str"),
      description: may("str"),
      js_script: must("str"),
      js_byte_code: may("bin"),
      route_name: may("str"),
      env: may("json"),
      runtime_clean_time: may("big"),
      ...each("create_at update_at", must("big")),
      ...each("max_run_time max_stack_size max_heap_size", may("big")),
    },
    indexes: [unique("name"), unique("route_name")],
  },
  js_result: {
    columns: {
      js_worker_id: must("big"),
      js_worker_name: must("str"),
      run_type: must("str"),
      ...each("start_time finish_time", may("big")),
      ...each("param result", may("json")),
      error_message: may("str"),
    },
    indexes: [index("js_worker_id"), index("js_worker_name", "start_time desc")],
  },
  static_file: {
    columns: {
      name: must("str"),
      path: must("str"),
      ...each("is_http_root cors", must("bool", "false")),
      enable: may("bool", "true"),
    },
    indexes: [unique("name"), { on: ["is_http_root"], unique: true, where: "is_http_root" }],
  },
  db_registry: {
    columns: {
      name: must("str"),
      db_connections: may("int", "0"),
      max_lifetime_ms: may("big"),
      created_at: must("big"),
    },
    indexes: [unique("name")],
  },
};

/** How a database writes `firstTables` down. */
export interface Spelling {
  readonly id: string;
  readonly types: Readonly<Record<Type, string>>;
}

export function createStatements(spelling: Spelling): string[] {
  return Object.entries(firstTables).flatMap(([name, table]) => {
    const columns = Object.entries(table.columns).map(([column, { type, nullable, standard }]) =>
      [
        `"${column}"`,
        spelling.types[type],
        nullable ? "" : "NOT NULL",
        standard === undefined ? "" : `DEFAULT ${standard}`,
      ]
        .filter((word) => word !== "")
        .join(" "),
    );
    const indexes = table.indexes.map(({ on, unique, where }) => {
      const label = `idx_${name}_${on.map((column) => column.replace(" ", "_")).join("_")}`;
      const list = on.map((column) => column.replace(/^\w+/, '"$&"')).join(", ");
      return `CREATE ${unique ? "UNIQUE " : ""}INDEX "${label}" ON "${name}" (${list})${where === undefined ? "" : ` WHERE ${where}`}`;
    });
    return [`CREATE TABLE "${name}" ("id" ${spelling.id}, ${columns.join(", ")})`, ...indexes];
  });
}

import type { ColumnType, Generated } from "kysely";

/** JSON text on SQLite, `jsonb` on PostgreSQL: written with `Dialect.json`, read with `Dialect.fromJson`. */
type Json = ColumnType<unknown, unknown, unknown>;
/** 0 or 1 on SQLite, a boolean on PostgreSQL: read with `Boolean`. */
type Flag = ColumnType<number | boolean, boolean, boolean>;
/** A number on SQLite, a bigint on PostgreSQL: read with `Number`. */
type Big = ColumnType<number | bigint, number, number>;
type MaybeBig = ColumnType<number | bigint | null, number | null, number | null>;

/** Schema has the columns that the server itself reads and writes; `tables.ts` and the later migrations have all of them. */
export interface Schema {
  token: {
    id: Generated<number | bigint>;
    version: Generated<number>;
    token_key: string;
    token_hash: string;
    time_stamp_from: MaybeBig;
    time_stamp_to: MaybeBig;
    token_limit: Json;
    username: string | null;
    password_hash: string | null;
    created_by: string | null;
    /** `skeletonOf` the user name; null without one, and if an older token has a similar name. */
    username_skeleton: string | null;
    name: string | null;
    created_at: MaybeBig;
    last_used_at: MaybeBig;
  };
  monitoring_uuid: {
    id: Generated<number | bigint>;
    uuid: string;
    soft_delete: Flag;
  };
  static_file: {
    id: Generated<number | bigint>;
    name: string;
    path: string;
    is_http_root: Flag;
    cors: Flag;
    enable: ColumnType<number | boolean | null, boolean, boolean>;
    public: Flag;
    /** A list of host names; null for none. */
    hosts: Json;
    clean_urls: Flag;
  };
  kv: {
    id: Generated<number | bigint>;
    namespace: string;
    key: string;
    value: Json;
  };
  seaql_migrations: {
    version: string;
    applied_at: Big;
  };
}

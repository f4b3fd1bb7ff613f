import type { ColumnType, Generated } from "kysely";

/** JSON text on SQLite, `jsonb` on PostgreSQL: goes in through `Values.json`, comes out through `Values.fromJson`. */
type Json = ColumnType<unknown, unknown, unknown>;
/** 0 or 1 on SQLite, a boolean on PostgreSQL: comes out through `Boolean`. */
type Flag = ColumnType<number | boolean, boolean, boolean>;
/** A number on SQLite, a bigint on PostgreSQL: comes out through `Number`. */
type Big = ColumnType<number | bigint, number, number>;
type MaybeBig = ColumnType<number | bigint | null, number | null, number | null>;

/** The columns that the server itself reads and writes; `tables.ts` and the later migrations have them all. */
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
    /** `skeletonOf` the user name; null without one, and where an older token has an alike name. */
    username_skeleton: string | null;
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

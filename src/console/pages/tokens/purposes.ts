import type { Limit, Permission } from "../../../client/index.ts";

export type PurposeName = "webdav" | "read" | "deploy" | "sql" | "own";

export interface Purpose {
  readonly title: string;
  readonly text: string;
  readonly needsBucket: boolean;
  readonly limits: (bucket: string) => Limit[];
}

/** What tokens are mostly made for, each in one click. */
export const purposes: Readonly<Record<PurposeName, Purpose>> = {
  webdav: {
    title: "WebDAV for a bucket",
    text: "Mount a bucket as a drive: read, write, delete and list its files.",
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "write", "delete", "list"]),
  },
  read: {
    title: "Read-only bucket",
    text: "Read and list the files of a bucket, and change nothing.",
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["read", "list"]),
  },
  deploy: {
    title: "Deploy to a bucket",
    text: "Push a folder from the command line or from CI: write, list, read and delete files.",
    needsBucket: true,
    limits: (bucket) => inBucket(bucket, ["write", "list", "read", "delete"]),
  },
  sql: {
    title: "SQL",
    text: "Run SQL on the server's own database. That means full trust: whoever has it can do anything here.",
    needsBucket: false,
    limits: () => [
      { scopes: ["global"], permissions: [{ node: "exec_sql" }, { node: "get_database_type" }] },
    ],
  },
  own: {
    title: "Custom",
    text: "Choose scopes and permissions yourself.",
    needsBucket: false,
    limits: () => [{ scopes: ["global"], permissions: [] }],
  },
};

export function purposeNamed(name: string | null): PurposeName | undefined {
  return name !== null && Object.hasOwn(purposes, name) ? (name as PurposeName) : undefined;
}

function inBucket(name: string, actions: ReadonlyArray<"read" | "write" | "delete" | "list">): Limit[] {
  const permissions = actions.map((action): Permission => ({ static_bucket_file: action }));
  return [{ scopes: [{ static_bucket: name }], permissions }];
}

/** The body of a LOCK request for an exclusive write lock. */
export const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

/** The namespace of the table `kv` that holds the locks of a bucket. */
export const locksNamespace = (bucket: string) => `static-webdav/locks/${bucket}`;

/** A server in this process or in another. */
interface Server {
  readonly superToken: string;
  call(method: string, params: object): Promise<unknown>;
}

export interface LockRow {
  /** In the bucket, without a slash before it. */
  readonly path: string;
  /** The key of a token. */
  readonly holder: string;
  readonly until: number;
}

const rowsAtOnce = 500;

/** Stores exclusive locks of files as the server does, without taking them one by one. */
export async function storeLocks(server: Server, bucket: string, locks: readonly LockRow[]): Promise<void> {
  const rows = locks.map(({ path, holder, until }, number) => {
    const token = `urn:uuid:${number}`;
    const lock = { token, kind: "file", scope: "exclusive", deep: false, owner: "", holder, until };
    return `('${locksNamespace(bucket)}', '/${path}', '${JSON.stringify([lock])}')`;
  });
  for (let at = 0; at < rows.length; at += rowsAtOnce)
    await server.call("node-server_exec_sql", {
      token: server.superToken,
      sql: `INSERT INTO kv (namespace, key, value) VALUES ${rows.slice(at, at + rowsAtOnce).join(",")}`,
    });
}

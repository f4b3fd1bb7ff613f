/** A rule refuses what code must be given instead, outside of the files that have a reason to use it themselves. */
interface Rule {
  readonly files: string;
  readonly except?: RegExp;
  readonly uses: RegExp;
  readonly advice: string;
  readonly allowed: Readonly<Record<string, string>>;
}

const rules: readonly Rule[] = [
  {
    // A time that a server reads from the machine is one that a story has to wait for.
    files: "src/**/*.ts",
    // A browser, a command, a client and a process are not part of a node: they have the time of their own machine.
    except: /^src\/(?:console|cli|client|host)\//,
    uses: /\b(?:Date\.now|setTimeout|setInterval|Bun\.sleep)\b/,
    advice: "take a Clock (src/base/clock.ts)",
    allowed: {
      "src/base/clock.ts": "is the clock of the system",
      "src/base/concurrency.ts": "bounds a wait behind real work",
      "src/base/local-fs/replace-file.ts": "compares with the times of files",
      "src/backup/make-backup.ts": "compares with the times of files",
      "src/buckets/bucket-usage.ts": "rests in proportion to real work",
      "src/buckets/history/disk/disk-history.ts": "rests in proportion to real work",
      "src/buckets/ports.ts": "compares with the times of files",
      "src/blobs/cache.ts": "gives times to files",
      "src/blobs/s3-requests.ts": "bounds an answer of the blob store",
      "src/blobs/folder.ts": "compares with the times of files",
      "src/buckets/trees/rows/new-trees.ts": "runs in a command, without a node",
      "src/blobs/s3.ts": "compares with the times of blobs",
      "src/db/dump/postgres-dump.ts": "runs in a command, without a node",
      "src/db/postgres/notifications.ts": "bounds an answer of PostgreSQL",
      "src/db/operator/postgres/postgres-operator.ts": "bounds how long PostgreSQL takes to cancel",
      "src/db/operator/postgres/session.ts": "bounds an answer of PostgreSQL",
      "src/db/operator/sqlite/sqlite-child.ts": "takes requests back from a process that is slow",
      "src/db/postgres/postgres-pool.ts": "bounds an answer of PostgreSQL",
      "src/http/links/drop-box.ts": "has a script that runs in browsers",
      "src/http/jsonrpc/rpc-socket.ts": "reads a paused socket to notice that its client left",
      "src/metrics/process-metrics.ts": "measures the delay of the event loop",
      "src/update/download.ts": "bounds a download",
      "src/update/smoke-test.ts": "waits for another process",
    },
  },
  {
    // A header that is not a number becomes NaN, which passes every bound that is written as `value > max`.
    files: "src/http/**/*.ts",
    uses: /\bNumber\(|\bparse(?:Int|Float)\(/,
    advice: "read numbers of clients with src/base/numbers.ts",
    allowed: {},
  },
  {
    // Bun keeps a whole body in memory, however large it is.
    files: "src/http/**/*.ts",
    uses: /\brequest\.(?:text|bytes|arrayBuffer|json|blob|formData)\(/,
    advice: "read the body within a bound (src/http/request/body.ts)",
    allowed: {
      "src/http/jsonrpc/post.ts": "reads a call of at most 64 KiB as text, which is twice as fast",
      "src/http/request/body.ts":
        "is where bodies are read, and a short file at once, which is faster than a stream",
    },
  },
  {
    // A command that uses the process can only be tested by a process.
    files: "src/cli/**/*.ts",
    uses: /\bprocess\.(?:stdin|stdout|stderr|env|cwd|exit|exitCode|on|once|off)\b|\bBun\.(?:stdin|stdout|stderr|env)\b|\bhomedir\(/,
    advice: "take it from the Context of the command (src/cli/context.ts)",
    allowed: {
      "src/cli/process-context.ts": "makes the context of the process",
    },
  },
  {
    // A table or a form of a page's own orders, searches, stacks and refuses in its own way.
    files: "src/console/**/*.tsx",
    except: /^src\/console\/ui\//,
    uses: /<table\b|<form\b|\baria-sort\b/,
    advice: "use the kit of the console (src/console/ui/data-table.tsx, form.tsx)",
    allowed: {},
  },
];

/** forbiddenUses lists the lines that break a rule, and the exceptions that no file needs any more. */
export async function forbiddenUses(): Promise<string[]> {
  return (await Promise.all(rules.map(breaches))).flat();
}

async function breaches({ files, except, uses, advice, allowed }: Rule): Promise<string[]> {
  const complaints: string[] = [];
  const unused = new Set(Object.keys(allowed));
  for await (const path of new Bun.Glob(files).scan(".")) {
    if (except?.test(path)) continue;
    for (const [at, line] of (await Bun.file(path).text()).split("\n").entries()) {
      const [use] = uses.exec(line) ?? [];
      if (use === undefined || /^\s*(\/\/|\/?\*)/.test(line)) continue;
      unused.delete(path);
      if (allowed[path] === undefined) complaints.push(`${path}:${at + 1}: ${use}: ${advice}`);
    }
  }
  const needless = [...unused].map((path) => `${path}: needs no exception in scripts/forbidden-uses.ts`);
  return [...complaints, ...needless];
}

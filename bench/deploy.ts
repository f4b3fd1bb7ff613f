import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { median, ms, type Pace, printTable, ratio } from "./figures.ts";
import { type Bench, binary, call, start, superToken } from "./servers/node-server.ts";
import { finish } from "./servers/program.ts";

const fileCount = 5000;
const folderCount = 50;
/** As rclone calls it; the push has its own number built in, which is the same. */
const transfers = "16";
/** One for each last digit of a section. */
const rclones = 10;

const steps = ["all of it", "again, nothing changed", "one file changed"] as const;

/** A way to bring a folder into a bucket. */
interface Way {
  readonly name: string;
  run(bucket: string): Promise<void>;
}

/** A site of 5,000 files deployed by push and by `rclone sync`, to the same server, in turns. */
export async function deploy(bench: Bench, { quick }: Pace): Promise<void> {
  const here = await mkdtemp(join(bench.folder, "deploy-"));
  const site = join(here, "site");
  const bytes = await makeSite(site);
  await using server = await start((await bench.site("deploy-server")).program);
  const base = `http://127.0.0.1:${server.port}`;
  const ways = [pushWay(site, here, base), ...(await rcloneWays(site, here, base))];
  const times = new Map(ways.map(({ name }) => [name, steps.map((): number[] => [])]));
  try {
    for (let round = 0; round < (quick ? 1 : 3); round += 1) {
      // Whoever comes second finds the site in memory; so they take turns.
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        const bucket = `deploy-${ways.indexOf(way)}-${round}`;
        await call(server.port, "static-bucket_create", [superToken, bucket]);
        for (const [step] of steps.entries()) {
          if (step === 2) await writeFile(join(site, "section 7/page 7.html"), `changed by ${bucket}`);
          const begin = performance.now();
          await way.run(bucket);
          times.get(way.name)?.[step]?.push(performance.now() - begin);
        }
        await verify(server.port, bucket);
      }
    }
  } finally {
    await rm(here, { recursive: true, force: true });
  }
  show(ways, times, bytes);
}

async function makeSite(site: string): Promise<number> {
  let bytes = 0;
  for (let section = 0; section < folderCount; section += 1)
    await mkdir(join(site, `section ${section}`), { recursive: true });
  for (let n = 0; n < fileCount; n += 1) {
    const kind = ["html", "css", "js", "svg"][n % 4];
    const content = `file ${n} `.repeat(50 + ((n * 37) % 900));
    bytes += content.length;
    await writeFile(join(site, `section ${n % folderCount}`, `page ${n}.${kind}`), content);
  }
  await writeFile(join(site, "section 7/page 7.html"), "before");
  return bytes;
}

function pushWay(site: string, here: string, url: string): Way {
  const env = {
    NODE_SERVER_URL: url,
    NODE_SERVER_TOKEN: superToken,
    XDG_STATE_HOME: join(here, "state"),
    XDG_CONFIG_HOME: join(here, "config"),
  };
  return {
    name: "node-server push",
    run: async (bucket) => void (await finish([binary, "push", site, bucket], env)),
  };
}

/**
 * rclone pauses 10 ms between requests, and only later versions can be told not to. Where it cannot, its figure is mostly
 * that pause and says little about the work, so several of them, each with a part of the site, stand beside it.
 */
async function rcloneWays(site: string, here: string, url: string): Promise<Way[]> {
  if (Bun.which("rclone") === null) {
    console.log("LEFT OUT: rclone sync, which needs rclone (apt install rclone)");
    return [];
  }
  const [user = "", secret = ""] = superToken.split(":");
  const quiet = { RCLONE_CONFIG: join(here, "none.conf") };
  const pass = (await finish(["rclone", "obscure", secret], quiet)).trim();
  const pacer = "webdav-pacer-min-sleep";
  const paced = !(await finish(["rclone", "help", "flags"], quiet)).includes(pacer);
  const sync = async (bucket: string, ...more: string[]) => {
    const command = ["rclone", "sync", "--transfers", transfers, "--checkers", transfers, ...more];
    await finish([...command, ...(paced ? [] : [`--${pacer}`, "0"]), site, ":webdav:"], {
      ...quiet,
      RCLONE_WEBDAV_URL: `${url}/node/static-webdav/${bucket}`,
      // So it keeps the times of files and compares by them; otherwise it would go by sizes alone.
      RCLONE_WEBDAV_VENDOR: "owncloud",
      RCLONE_WEBDAV_USER: user,
      RCLONE_WEBDAV_PASS: pass,
    });
  };
  const alone: Way = { name: "rclone sync", run: (bucket) => sync(bucket) };
  if (!paced) return [alone];
  console.log("NOTE: this rclone sends a hundred requests in a second at most, whatever the server can do.");
  return [
    alone,
    {
      name: `${rclones} rclone sync, a part each`,
      run: async (bucket) =>
        void (await Promise.all(
          Array.from({ length: rclones }, (_, part) => sync(bucket, "--include", `/section *${part}/**`)),
        )),
    },
  ];
}

/** A figure counts only if the work was done. */
async function verify(port: number, bucket: string): Promise<void> {
  const params = [superToken, bucket];
  const result = await call<{ path: string; size: number }[]>(port, "static-bucket-file_list", params);
  const changed = result.find(({ path }) => path === "section 7/page 7.html");
  if (result.length !== fileCount + 1 || changed?.size !== `changed by ${bucket}`.length)
    throw new Error(`${bucket} does not hold the site: ${result.length} files`);
}

function show(ways: readonly Way[], times: ReadonlyMap<string, number[][]>, bytes: number): void {
  const middle = (name: string, step: number) => median(times.get(name)?.[step] ?? []);
  const [first] = ways;
  printTable(
    `A site of ${fileCount + 1} files, ${(bytes / 1e6).toFixed(1)} MB, deployed over WebDAV; the ratio is to push`,
    {
      head: ["", ...steps.flatMap((step) => [step, "ratio"])],
      rows: ways.map(({ name }) => [
        name,
        ...steps.flatMap((_, step) => [
          ms(middle(name, step)),
          ratio(middle(name, step) / middle(first?.name ?? name, step)),
        ]),
      ]),
    },
  );
  if (first !== undefined)
    console.log(
      `The second push takes 1/${Math.round(middle(first.name, 0) / middle(first.name, 1))} of the first.`,
    );
}

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Home, newHome, type Server } from "../support/process.ts";
import { hasManyKills, killsOf, randomFrom, repeatedTimeoutMs } from "../support/random.ts";
import { until } from "../support/until.ts";

const homes = 4;
const killsEach = killsOf(10);
const longestRunMs = 80;
const sizes = { "one.bin": 1, "page.bin": 4096, "deep/er/some.bin": 70_000, "large.bin": 1_000_000 };

/** Every version has its own length, and one byte value from end to end: a mixture of two cannot pass for either. */
function version(size: number, number: number): Buffer {
  return Buffer.alloc(size + (number % 7), 1 + (number % 251));
}

/** What may stand in a file: the version that was answered last, or the one that was sent after it. */
interface Upload {
  readonly size: number;
  answered: number;
  sent: number;
}

class Site {
  readonly files = new Map<string, Upload>();
  kills = 0;
  answers = 0;
  cut = 0;
  leftovers = 0;
  #token = "";

  constructor(readonly home: Home) {
    for (const [path, size] of Object.entries(sizes)) this.files.set(path, { size, answered: 0, sent: 0 });
  }

  get folder(): string {
    return this.home.file("static");
  }

  async begin(server: Server): Promise<void> {
    this.#token = server.superToken;
    await server.call("static-bucket_create", [this.#token, "site"]);
  }

  /** Uploads until the server is gone, each file by a client of its own, and one that makes new files all the time. */
  async uploadTo(server: Server): Promise<void> {
    const again = async (path: string, file: Upload) => {
      file.sent = file.answered + 1;
      const base64 = version(file.size, file.sent).toString("base64");
      await server.call("static-bucket-file_upload", { token: this.#token, name: "site", path, base64 });
      file.answered = file.sent;
      this.answers += 1;
    };
    const clients = [...this.files].map(async ([path, file]) => {
      while (server.alive) await again(path, file);
    });
    const maker = async () => {
      for (let number = 0; server.alive; number += 1) {
        const file = { size: 20_000, answered: 0, sent: 0 };
        this.files.set(`new/${number}/file.bin`, file);
        await again(`new/${number}/file.bin`, file);
      }
    };
    await Promise.allSettled([...clients, maker()]);
  }

  /** Every file as it lies on the disk: the version that was answered, or the one that was on its way. */
  examine(): void {
    for (const [path, file] of this.files) {
      const { size, answered, sent } = file;
      const place = join(this.folder, "site", path);
      const content = existsSync(place) ? readFileSync(place) : undefined;
      const found = [answered, sent].find((number) =>
        number === 0 ? content === undefined : content?.equals(version(size, number)),
      );
      if (found === undefined) {
        const bytes = [...new Set(content ?? [])].join(" and ");
        throw new Error(
          `kill ${this.kills}: ${path} has ${content?.length ?? "no"} bytes of value ${bytes}; answered was version ${answered}, sent ${sent}`,
        );
      }
      file.answered = file.sent = found;
    }
  }

  get stagedFiles(): string[] {
    return filesBelow(join(this.folder, "~staging"));
  }

  /** After a start nothing is left but whole files. */
  expectNoStrays(): void {
    const known = [...this.files].flatMap(([path, { answered }]) => (answered === 0 ? [] : [`site/${path}`]));
    expect(filesBelow(this.folder)).toEqual(known.sort());
  }

  async forgetNewFiles(): Promise<void> {
    await rm(join(this.folder, "site/new"), { recursive: true, force: true });
    for (const path of this.files.keys()) if (path.startsWith("new/")) this.files.delete(path);
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

test(
  "kills in a storm of uploads leave every file whole, old or new, nothing answered lost, and no strays after the next start",
  async () => {
    const sites = await Promise.all(
      Array.from({ length: homes }, async (_, at) => {
        const random = randomFrom(`kills in a storm of uploads, server ${at + 1}`);
        await using home = await newHome();
        const site = new Site(home);
        let server = await home.serve();
        await site.begin(server);
        while (site.kills < killsEach) {
          const before = site.answers;
          const storm = site.uploadTo(server);
          // Half of the kills strike a server that has just started, half one that is in full swing.
          if (random() < 0.5) await until("an upload is answered", () => site.answers > before);
          await Bun.sleep(random() * longestRunMs);
          server.signal("SIGKILL");
          await server.exited;
          await storm;
          site.kills += 1;
          site.cut += [...site.files.values()].filter(({ answered, sent }) => sent > answered).length;
          site.leftovers += site.stagedFiles.length;
          site.examine();
          server = await home.serve();
          site.expectNoStrays();
          await site.forgetNewFiles();
        }
        return site;
      }),
    );
    const sum = (count: (site: Site) => number) => sites.reduce((total, site) => total + count(site), 0);
    const [kills, answers] = [sum((site) => site.kills), sum((site) => site.answers)];
    const [cut, leftovers] = [sum((site) => site.cut), sum((site) => site.leftovers)];
    console.log(
      `${kills} kills: ${answers} uploads answered, ${cut} cut short, ${leftovers} partial files left for the next start`,
    );
    expect(kills).toBe(homes * killsEach);
    // Otherwise the kills struck when nothing was going on, and proved nothing.
    if (hasManyKills) expect(Math.min(answers, cut, leftovers)).toBeGreaterThan(kills / 20);
  },
  repeatedTimeoutMs,
);

test("a kill while an upload goes to a folder of another file system leaves no partial file for the next start either", async () => {
  await using home = await newHome({ top: "max_request_body_size = 67108864\n" });
  const first = await home.serve();
  const token = first.superToken;
  await first.call("static-bucket_create", [token, "site"]);
  const folder = home.file("static/site/mounted");
  await mkdir(folder, { recursive: true });
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const run = (...words: string[]) =>
    Bun.which(asRoot[0] ?? "mount") !== null && Bun.spawnSync([...asRoot, ...words]).exitCode === 0;
  if (!run("mount", "-t", "tmpfs", "-o", "size=128m,mode=1777", "tmpfs", folder)) {
    console.log("note: a folder of another file system is not shown, because nothing may be mounted here");
    return;
  }
  try {
    const body = "x".repeat(32 * 1024 * 1024);
    const params = { token, name: "site", path: "mounted/a.txt", body };
    const answer = first.send("static-bucket-file_upload", params).catch(() => undefined);
    await until("the upload arrives in the folder", () => readdirSync(folder).length > 0);
    first.signal("SIGKILL");
    await first.exited;
    await answer;
    const second = await home.serve();
    const left = filesBelow(home.file("static"));
    expect(left.filter((path) => path !== "site/mounted/a.txt")).toEqual([]);
    if (left.length > 0) expect(readFileSync(join(folder, "a.txt"), "utf8") === body).toBe(true);
    await second.stop();
  } finally {
    run("umount", "-l", folder);
  }
});

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import type { DeployRecord } from "../support/deploys.ts";
import { wantedFiles } from "../support/deploys.ts";
import { newHome, type Server, story } from "../support/process.ts";
import { killsOf, randomFrom } from "../support/random.ts";

const kills = killsOf(8);
const maxRunMs = 60;
const versions = ["a", "b", "c"] as const;

const filesOf = (version: string) => ({
  "index.html": `page ${version}`,
  "js/app.js": `script ${version}`,
  [`only-${version}.txt`]: version,
});

/** Deployer is a client that remembers what it was answered. */
class Deployer {
  readonly #token: string;
  server: Server;
  readonly deploys = new Map<string, string>();
  /** The versions that may be published: the last one that was confirmed, and one whose answer did not come. */
  possible: string[] = [];

  constructor(server: Server) {
    this.server = server;
    this.#token = server.superToken;
  }

  call(method: string, params: object = {}): Promise<unknown> {
    return this.server.call(`static-bucket_${method}`, { token: this.#token, name: "site", ...params });
  }

  async prepare(version: string): Promise<void> {
    const files: Record<string, string> = filesOf(version);
    const { deploy } = (await this.call("deploy_begin", { note: version })) as DeployRecord;
    await this.call("deploy_add", { deploy, files: wantedFiles(files) });
    const authorization = `Basic ${Buffer.from(this.#token).toString("base64")}`;
    for (const [path, body] of Object.entries(files)) {
      const url = `${this.server.url}/node/static-webdav/site@${deploy}/${path}`;
      expect((await fetch(url, { method: "PUT", headers: { authorization }, body })).status).toBeLessThan(
        205,
      );
    }
    await this.call("deploy_publish", { deploy });
    this.deploys.set(version, deploy);
    this.possible = [version];
  }

  /** Publishes one version after the other until the server is gone. */
  async run(random: () => number): Promise<void> {
    for (;;) {
      const version = versions[Math.floor(random() * versions.length)] ?? "a";
      this.possible.push(version);
      try {
        const method = random() < 0.5 ? "deploy_publish" : "deploy_rollback";
        await this.call(method, { deploy: this.deploys.get(version) });
      } catch {
        return;
      }
      this.possible = [version];
    }
  }

  /** The version that is published: all its files, and no others. */
  async published(): Promise<string> {
    const page = async (path: string) => {
      const response = await fetch(`${this.server.url}/node/static/site/${path}`);
      return response.ok ? response.text() : response.status;
    };
    const version = String(await page("index.html")).slice(-1);
    expect(await page("index.html")).toBe(`page ${version}`);
    expect(await page("js/app.js")).toBe(`script ${version}`);
    for (const other of versions)
      expect(await page(`only-${other}.txt`)).toBe(other === version ? version : 404);
    return version;
  }
}

for (const store of ["disk", "objects"])
  story(`a server that is killed while it publishes has one version or the other (${store})`, async () => {
    const random = randomFrom(`killed publications, ${store}`);
    await using home = await newHome();
    await mkdir(home.file("blobs"));
    await home.configure(store === "disk" ? {} : { files: `url = "file://${home.file("blobs")}"\n` });
    const deployer = new Deployer(await home.serve());
    await deployer.server.call("static-bucket_create", [deployer.server.superToken, "site"]);
    for (const version of versions) await deployer.prepare(version);
    for (let kill = 0; kill < kills; kill += 1) {
      const running = deployer.run(random);
      await Bun.sleep(random() * maxRunMs);
      deployer.server.signal("SIGKILL");
      await deployer.server.exited;
      await running;
      deployer.server = await home.serve();
      const version = await deployer.published();
      expect(deployer.possible).toContain(version);
      const list = (await deployer.call("deploy_list")) as DeployRecord[];
      expect(list.filter(({ state }) => state === "published").map(({ note }) => note)).toEqual([version]);
      expect(list).toHaveLength(versions.length);
      deployer.possible = [version];
    }
    for (const version of versions) {
      await deployer.call("deploy_rollback", { deploy: deployer.deploys.get(version) });
      expect(await deployer.published()).toBe(version);
    }
    await deployer.server.stop();
  });

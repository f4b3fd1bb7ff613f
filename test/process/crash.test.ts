import { expect } from "bun:test";
import { appendFile, mkdir } from "node:fs/promises";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { hello, newHome } from "../support/process.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";
import { hookTable, webhookReceiver } from "../support/webhooks.ts";

eachDatabase(
  "a server that is killed has everything that it has answered when it starts again",
  async (kind) => {
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    const first = await home.serve();
    const { superToken } = first;
    const made = await first.newToken();
    await first.call("static-bucket_create", [superToken, "site"]);
    const upload = { token: superToken, name: "site", path: "a.txt", body: "answered" };
    await first.call("static-bucket-file_upload", upload);
    // Whoever reads the audit trail makes the server write what it has acknowledged.
    const trail = await first.call("audit_list", [superToken]);
    first.signal("SIGKILL");
    expect(await first.exited).toMatchObject({ signal: "SIGKILL" });

    const second = await home.serve();
    expect(second.superToken).toBe("");
    expect(await second.call("node-server_hello")).toBe(hello);
    expect(await second.send("token_get", [made])).toHaveProperty("result.token_key", made.split(":")[0]);
    expect(await (await fetch(`${second.url}/node/static/site/a.txt`)).text()).toBe("answered");
    expect(await second.call("audit_list", [superToken])).toEqual(trail);
    // On PostgreSQL the row that the first server has left might be that of another node, for a minute.
    expect(await second.call("node-server_status", [superToken])).toMatchObject({
      crashed: kind === "sqlite",
    });
    await second.stop();
    await database.drop();
  },
);

/** So many uploads are answered before the kill. */
const answeredUploads = 20;
/** After so many failures a webhook is tried again 40 s later, so no attempt is under way at the kill. */
const failedAttempts = 4;

for (const store of ["plain files", "objects"] as const)
  leftToAll(eachDatabase)(
    `a server that is killed sends webhooks every change that it has answered, once it runs again (${store})`,
    async (kind) => {
      await using to = webhookReceiver();
      await using home = await newHome();
      const database = await newDatabase(kind, home.path);
      await mkdir(home.file("blobs"));
      const files = store === "objects" ? { files: `url = "file://${home.file("blobs")}"\n` } : {};
      await home.configure(files, database.url);
      await appendFile(home.configPath, hookTable(to.url, ["file.created"]));
      const first = await home.serve();
      const token = first.superToken;
      await first.call("static-bucket_create", { token, name: "site" });
      const webhook = async () => {
        const [found] = (await first.call("hooks_list", { token })) as Array<{
          hook: string;
          failures: number;
        }>;
        return found ?? { hook: "", failures: 0 };
      };
      const { hook } = await webhook();
      to.state.status = 503;
      for (let failures = 1; failures <= failedAttempts; failures += 1) {
        await first.call("hooks_test", { token, hook });
        await until(`attempt ${failures} failed`, async () => (await webhook()).failures === failures);
      }
      const answered: string[] = [];
      const uploads = Array.from({ length: 3 }, async (_, client) => {
        for (let at = 0; first.alive; at += 1) {
          const upload = { token, name: "site", path: `${client}/${at}`, body: "" };
          const reply = await first.send("static-bucket-file_upload", upload).catch(() => undefined);
          if (reply?.error === undefined && reply !== undefined) answered.push(upload.path);
          if (answered.length === answeredUploads) first.signal("SIGKILL");
        }
      });
      expect(await first.exited).toMatchObject({ signal: "SIGKILL" });
      await Promise.all(uploads);
      expect(to.deliveries).toEqual([]);

      to.state.status = 200;
      const second = await home.serve();
      // Otherwise the next attempt is made after the pause.
      await second.call("hooks_test", { token, hook });
      const isLast = () => to.deliveries.filter(({ type }) => type === "hook.test").length > failedAttempts;
      await until("all are sent", isLast);
      const told = to.deliveries.map(({ data }) => data.path);
      expect(answered.filter((path) => !told.includes(path))).toEqual([]);
      expect(answered.length).toBeGreaterThanOrEqual(answeredUploads);
      await second.stop();
      await database.drop();
    },
  );

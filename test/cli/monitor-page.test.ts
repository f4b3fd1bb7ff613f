import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { quietPort } from "../support/installed.ts";
import { PageRun, serviceStandIns, startService } from "../support/page-story.ts";
import { story } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";
import { until } from "../support/until.ts";

const alerts = join(import.meta.dir, "../../deploy/prometheus-alerts.yml");

// Stand-ins: sudo, systemctl and `install -o`, which need root or systemd.
story(
  "the commands and configurations of docs/monitor.md do what the page says",
  async () => {
    if (["curl", "jq"].some((name) => findProgram("docs/monitor.md", name) === undefined)) return;
    const port = await quietPort();
    await using page = await PageRun.open({
      page: "monitor.md",
      pairs: [
        ["127.0.0.1:2211", `127.0.0.1:${port}`],
        ["-g adm", ""],
      ],
      standIns: serviceStandIns,
      env: { NODE_SERVER_WS_LISTENER: `127.0.0.1:${port}` },
    });
    await startService(page, port);
    const token = page.input.trim();
    const [key = ""] = token.split(":");
    // As the page shows them.
    page.learn("eIWPZ6CqJxc2xuH4", key);
    const reload = () => page.shell("systemctl reload");
    await page.runBlocks({
      "scrape_configs:": {
        // As the text below the block says.
        before: () => page.shell(`cp '${alerts}' ../../etc/prometheus/node-server-alerts.yml`),
      },
      "activity -n 1": { before: () => page.shell("node-server buckets create site") },
      'access_log = "logs/access.log"': { isApplied: true, after: reload },
      "curl/7.88.1": {
        async shows() {
          const upload = `curl -s -u ${token} -T - http://127.0.0.1:${port}/node/static-webdav/site/a.txt`;
          const path = page.file("srv/node/logs/access.log");
          return until("the upload is in the access log", async () => {
            await page.shell(`echo | ${upload}`);
            const line = (await readFile(path, "utf8").catch(() => ""))
              .split("\n")
              .find((l) => l.includes('"PUT'));
            // The id of the request is random.
            return line?.replace(/\S+$/, "pQ3vZk8s-17");
          });
        },
      },
      "maxsize 100M": {
        cannotRun: "logrotate runs as root, once a day; the block after does the same by hand",
      },
      "mv logs/access.log": {
        after: () =>
          until("the server has begun a new log", () =>
            page.shell(`curl -s http://127.0.0.1:${port}/ && test -e logs/access.log`).then(
              () => true,
              () => false,
            ),
          ),
      },
    });
    // Some twenty commands, each a process of its own.
  },
  60_000,
);

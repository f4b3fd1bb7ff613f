import { expect } from "bun:test";
import { readdir } from "node:fs/promises";
import { quietPort } from "../support/installed.ts";
import { PageRun, serviceStandIns, startService } from "../support/page-story.ts";
import { story } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";

// Stand-ins: systemctl, and aws, which needs an account of an S3 store: it reads the rules that it is given.
story(
  "the commands and configurations of docs/storage.md do what the page says",
  async () => {
    if (["curl", "jq"].some((name) => findProgram("docs/storage.md", name) === undefined)) return;
    const port = await quietPort();
    await using page = await PageRun.open({
      page: "storage.md",
      pairs: [["127.0.0.1:2211", `127.0.0.1:${port}`]],
      learns: [/^(\d{13})\s/m],
      standIns: {
        ...serviceStandIns,
        aws: "#!/bin/sh\nfor rules; do :; done\nprintf '%s' \"$rules\" | jq -e '.Rules[0].Status == \"Enabled\"'\n",
      },
      env: { NODE_SERVER_WS_LISTENER: `127.0.0.1:${port}` },
    });
    await startService(page, port);
    page.learn("<key>:<secret>", page.input.trim());
    const trash = page.file("srv/node/static/~trash/site/~30");
    await page.runBlocks({
      "buckets history": {
        before: () =>
          page.shell(
            `node-server buckets create site; mkdir -p public/docs; echo old > public/docs/index.html; echo guide > public/docs/guide.html
          node-server push public site; echo new, and longer > public/docs/index.html; node-server push public site
          node-server rm site/docs/guide.html`,
          ),
      },
      "mv 'static/~trash": {
        async before() {
          await page.shell("node-server rm site/docs/index.html");
          const version = (await readdir(trash)).sort().at(-1)?.replace("~docs%2Findex.html", "") ?? "";
          page.learn("1795058701984", version);
        },
        after: async () => expect(await page.shell("node-server cat site/docs/index.html")).toContain("old"),
      },
      "migrate --files": {
        before: () => page.shell("systemctl stop; mkdir blobs"),
        after: () => page.shell("systemctl start"),
      },
      "push ./public": { before: () => page.shell("echo hello > index.html") },
      "recover()": { provenBy: "buckets/manifest.test.ts" },
    });
    // Some forty commands, each a process of its own.
  },
  60_000,
);

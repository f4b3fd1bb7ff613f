import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { story } from "../support/process.ts";
import { scaled, tier } from "../support/tier.ts";
import { contents, deploySite, fill } from "./deploy-site.ts";

story(
  scaled("of a large site a second push uploads nothing, and one file after one was changed"),
  async () => {
    // What is measured here are counts; the disk need not be waited for.
    await using site = await deploySite({ top: "sync_uploads = false\n" });
    const { local, bucket, push } = site;
    const count = tier === "fast" ? 300 : 3000;
    const files: Record<string, string> = {};
    for (let n = 0; n < count; n += 1)
      files[`section ${n % 50}/${n % 2 === 0 ? `post-${n}.html` : `image-${n}.svg`}`] = `content of ${n}`;
    await fill(local, files);
    const first = await site.start({}, "push", local, "site", "--json").ends();
    const all = { uploaded: count, unchanged: 0, failed: [], not_sent: 0 };
    expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, all]);
    expect(await push()).toMatchObject({ uploaded: 0, bytes: 0, unchanged: count, compared: 0 });
    // As long as it was before.
    await writeFile(join(local, "section 8/post-8.html"), "CONTENT of 8");
    expect(await push()).toMatchObject({ uploaded: 1, bytes: 12, unchanged: count - 1, compared: 0 });
    expect(contents(bucket)).toEqual(contents(local));
  },
);

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { S3Blobs } from "../../src/blobs/s3.ts";
import { toS3Options } from "../../src/blobs/s3-requests.ts";
import { writeManifests } from "../../src/buckets/maintenance/manifest.ts";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { listed, never } from "../support/blob-stores.ts";
import { settingsFor } from "../support/database-settings.ts";
import { newHome, sqliteUrl, story } from "../support/process.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { treeOf } from "./support.ts";

if (hasSeaweed)
  story("files go from the disk to S3, are looked after there, and go on to a folder", async () => {
    const { location } = await seaweed();
    const prefix = crypto.randomUUID();
    const url = `s3://${location.bucket}/${prefix}`;
    const env = {
      AWS_ACCESS_KEY_ID: location.accessKeyId,
      AWS_SECRET_ACCESS_KEY: location.secretAccessKey,
      AWS_ENDPOINT_URL: location.endpoint,
    };
    await using home = await newHome();
    const plain = await home.serve();
    const token = plain.superToken;
    await plain.call("static-bucket_create", [token, "site"]);
    for (let at = 0; at < 20; at += 1)
      await plain.call("static-bucket-file_upload", {
        token,
        name: "site",
        path: `${at % 3}/${at}.txt`,
        body: `${at} `.repeat(1 + at * 500),
      });
    await plain.stop();
    const before = await treeOf(home.file("static/site"));

    const moved = await home.run(["migrate", "--files", url], { env });
    expect({ code: moved.code, stderr: moved.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /20 files copied to s3:.* 0 files there already .*the SHA-256 of every file/s,
      ),
    });
    expect(moved.stderr).toContain(
      "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL were taken from this environment. The server needs the same",
    );
    const again = await home.run(["migrate", "--files", url], { env });
    expect(again.stderr).toContain("0 files copied");
    expect(again.stderr).toContain("20 files there already");
    expect(JSON.stringify([moved, again])).not.toContain(location.secretAccessKey);

    await home.configure({ databaseKeys: `\n[files]\nurl = "${url}"\n` });
    const checked = await home.run(["check", "--files", "--json"], { env });
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([
      0,
      { blobs: 20, orphans: 0, missing: [] },
    ]);
    const blobs = new S3Blobs({ ...location, prefix, requestTimeoutMs: 30_000 });
    const database = await openDatabase(
      settingsFor(sqliteUrl.replace("data", home.file("data"))),
      new LogHub(),
      {
        create: false,
      },
    );
    const care = { rows: database.removed, blobs, signal: never };
    expect(await sweep(care)).toMatchObject({ deletedBlobs: 0 });
    expect(await writeManifests(care)).toBe(1);
    await database.close();
    const manifest = await new Bun.S3Client(toS3Options(location))
      .file(`${prefix}/manifests/site.jsonl`)
      .text();
    expect(manifest.trimEnd().split("\n")).toHaveLength(1 + 3 + 20);

    const [lost = ""] = await listed(blobs);
    const folder = home.file("blobs");
    await mkdir(folder);
    const onward = await home.run(["migrate", "--files", `file://${folder}`], { env });
    expect({ code: onward.code, stderr: onward.stderr }).toMatchObject({ code: 0 });
    await blobs.delete([lost]);
    const broken = await home.run(["check", "--files"], { env });
    expect(broken).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^missing\tsite\/.*\.txt\t\d+\t/m),
    });

    await home.configure({ databaseKeys: `\n[files]\nurl = "file://${folder}"\n` });
    const back = await home.run(["pull", "site", home.file("pulled")], {
      env: { NODE_SERVER_URL: (await home.serve()).url, NODE_SERVER_TOKEN: token },
    });
    expect({ code: back.code, stderr: back.stderr }).toMatchObject({ code: 0 });
    expect(await treeOf(home.file("pulled"))).toEqual(before);
  });

import { expect } from "bun:test";
import { existsSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { Wire } from "../support/hostile.ts";
import { newHome, story } from "../support/process.ts";
import { until } from "../support/until.ts";
import { mounted } from "../support/webdav-disk.ts";

/** So large that no machine copies it before the stop; nearly all of it is a hole. */
function writeHuge(path: string): void {
  writeFileSync(path, "words");
  truncateSync(path, 4 * 1024 ** 4);
}

// One stop for all of them: it waits for seconds, in which every copy takes all the processor time that it gets.
story(
  "a stop ends copies, uploads and the rename of a large file onto another disk, and leaves nothing of them",
  async () => {
    await using home = await newHome();
    const server = await home.serve();
    await server.call("static-bucket_create", [server.superToken, "site"]);
    const disk = home.file("static/site/disk");
    using mount = mounted("a rename onto another disk", disk, "size=8m");
    if (mount === undefined) return;
    writeHuge(home.file("static/site/huge.bin"));
    writeHuge(home.file("static/site/moved.bin"));
    const staged = () => {
      const folder = home.file("static/~staging");
      const found = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
      return found.filter((entry) => !entry.isDirectory()).length;
    };
    const authorization = `Basic ${Buffer.from(server.superToken).toString("base64")}`;
    const head = (verb: string, path: string, ...headers: string[]) =>
      [`${verb} /node/static-webdav/site/${path} HTTP/1.1`, "Host: here", `Authorization: ${authorization}`]
        .concat(headers, "\r\n")
        .join("\r\n");
    using copying = await Wire.open(server.url);
    copying.write(head("COPY", "huge.bin", "Destination: /node/static-webdav/site/copy.bin"));
    using uploading = await Wire.open(server.url);
    uploading.write(`${head("PUT", "half.bin", "Content-Length: 100000")}half of it`);
    await until("both have begun", () => staged() === 2);
    // Nothing but the stop ends this one: a call goes on when its client leaves.
    const renaming = server
      .send("static-bucket-file_rename", [server.superToken, "site", "moved.bin", "disk/moved.bin"])
      .catch(() => undefined);
    await until("the rename has begun", () => readdirSync(disk).length === 1);
    const { code } = await server.stop();
    await renaming;
    expect([code, staged(), readdirSync(disk)]).toEqual([0, 0, []]);
    expect(readdirSync(home.file("static/site")).sort()).toEqual(["disk", "huge.bin", "moved.bin"]);
  },
);

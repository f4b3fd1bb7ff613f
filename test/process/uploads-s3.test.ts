import { expect, test } from "bun:test";
import { digestOf, distinctBytes, resumable, sha256Of } from "../support/resumable.ts";
import { S3Site } from "../support/s3-site.ts";
import { hasSeaweed } from "../support/seaweed.ts";

test.if(hasSeaweed)(
  "a resumable upload into an S3 store goes on after the store and the server were away",
  async () => {
    await using site = await S3Site.open(60_000);
    const bytes = distinctBytes(30_000_000, 17);
    const ways = () => resumable(site.server.url, site.token);
    const address = await ways().address("site/film.bin", bytes.length, { "repr-digest": digestOf(bytes) });
    expect((await ways().append(address, 0, bytes.slice(0, 10_000_000))).status).toBe(204);

    // The store breaks off while a part is on its way: the part is lost, the upload is not.
    let puts = 0;
    site.onRequest = (line) => {
      if (!/^(PUT|POST) /.test(line)) return undefined;
      puts += 1;
      return { kind: "cut", at: { of: "request", after: 100_000 } };
    };
    const refused = await ways().append(address, 10_000_000, bytes.slice(10_000_000, 20_000_000));
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringMatching(/store/)]);
    expect(puts).toBeGreaterThan(0);
    site.onRequest = undefined;
    const offset = await ways().offsetOf(address);
    expect(offset).toBe(10_000_000);
    expect((await site.get("film.bin")).status).toBe(404);

    expect((await ways().append(address, offset, bytes.slice(offset, 20_000_000))).status).toBe(204);
    await site.server.stop("SIGKILL");
    site.server = await site.home.serve();
    expect(await ways().offsetOf(address)).toBe(20_000_000);
    const last = await ways().append(address, 20_000_000, bytes.slice(20_000_000));
    expect([last.status, last.headers.get("upload-put-status")]).toEqual([204, "201"]);
    const film = await fetch(`${site.server.url}/node/static/site/film.bin`);
    expect(sha256Of(await film.bytes())).toBe(sha256Of(bytes));
    expect(await ways().unfinished("site/")).toEqual([]);
  },
);

import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachStore } from "../support/node.ts";
import { bitmap, picture } from "../support/picture.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

eachStore(
  "the server makes small pictures of images, and refuses what would take much time or memory",
  async (options) => {
    await using node = await sharedNode(options);
    const photo = picture(640, 480);
    const png = await photo.png().buffer();
    // The size is in the header, behind its length and type.
    const huge = Buffer.from(png);
    huge.writeUInt32BE(60_000, 16);
    huge.writeUInt32BE(60_000, 20);
    await siteWith(node, {
      "photo.jpg": await photo.jpeg().bytes(),
      "photo.png": png,
      "huge.png": huge,
      "damaged.png": png.subarray(0, 60),
      "named.png": "no picture",
      "empty.png": "",
      "old.bmp": bitmap(1, 1),
    });
    const asked = (path: string, more = {}) => ({ token: node.superToken, name: node.bucket, path, ...more });
    const sizeOf = async (path: string, more = {}) => {
      const base64 = String(await node.call("static-bucket-file_thumbnail", asked(path, more)));
      const { width, height, format } = await new Bun.Image(Buffer.from(base64, "base64")).metadata();
      return [width, height, format];
    };
    expect(await sizeOf("photo.jpg")).toEqual([256, 192, "webp"]);
    const many = await Promise.all(Array.from({ length: 20 }, () => sizeOf("photo.png", { size: 64 })));
    expect(new Set(many.map(String))).toEqual(new Set(["64,48,webp"]));
    for (const path of ["huge.png", "damaged.png", "named.png", "empty.png", "old.bmp"]) {
      const { data } = await node.refused("static-bucket-file_thumbnail", asked(path));
      expect([path, data.reason]).toEqual([path, "no_thumbnail"]);
    }
    const stranger = await node.newToken([]);
    const { data } = await node.refused("static-bucket-file_thumbnail", {
      ...asked("photo.png"),
      token: stranger,
    });
    expect(data.reason).toBe("missing_permission");
  },
);

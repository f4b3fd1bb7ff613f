import { beforeAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newKeyPair, publicKeyOf, readSecretKey, signFile } from "../../scripts/minisign.ts";
import { expectFailure, expectRecovery } from "../support/failed-update.ts";
import { install, updateStory } from "../support/installed.ts";
import { compileMs, compileVersions, Releases, script, type Versions } from "../support/update.ts";

const MiB = 1024 * 1024;
let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, compileMs);

updateStory(
  "with a public key, only a signature of this very file, name and version is good enough",
  async () => {
    const keys = ["ours", "theirs"].map((name) => {
      const path = join(versions.folder, `${name}.key`);
      writeFileSync(path, newKeyPair().secret);
      return readSecretKey(path);
    });
    const [ours, theirs] = keys;
    if (ours === undefined || theirs === undefined) throw new Error("there are no keys");
    const { two, name } = versions;
    // Small, so that the story is short; that it is no server would come to light only after its signature.
    const small = { path: join(versions.folder, "small"), other: join(versions.folder, "other") };
    const content = script({ ...versions.record, cargo_version: "2.0.0" });
    writeFileSync(small.path, content);
    writeFileSync(small.other, `${content}#`);
    const wrongs: Array<readonly [signature: string | undefined, why: RegExp]> = [
      [undefined, /signature.*404/],
      ["", /signature cannot be read/],
      [await signFile(small.other, name, "v2.0.0", ours), /does not belong to the file/],
      [await signFile(small.path, name, "v1.0.0", ours), /another file or version/],
      [await signFile(small.path, `${name}.zst`, "v2.0.0", ours), /another file or version/],
      [await signFile(small.path, name, "v2.0.0", theirs), /another key/],
      [await signFile(small.path, name, "v2.0.0", { id: ours.id, seed: theirs.seed }), /does not belong/],
      [(await signFile(small.path, name, "v1.0.0", ours)).replace(/version:v1/, "version:v2"), /comment/],
    ];
    let signature: string | undefined;
    using releases = new Releases(versions);
    releases.answer = (request) => {
      if (!request.url.includes(".minisig")) return new Response(Bun.file(small.path));
      return signature === undefined ? new Response("none", { status: 404 }) : new Response(signature);
    };
    const top = `release_public_key = "${publicKeyOf(ours)}"\n`;
    await using home = await install(versions, { releases, top });
    const server = await home.serve();
    for (const [given, why] of wrongs) {
      signature = given;
      await expectFailure(home, server, why);
    }
    const answer = releases.answer;
    let sent = 0;
    const large = () =>
      new ReadableStream({
        async pull(controller) {
          // A server that is asked for the whole file would send it within the story.
          await Bun.sleep(1);
          if (sent >= 64 * MiB) return controller.close();
          sent += MiB;
          controller.enqueue(new Uint8Array(MiB));
        },
      });
    signature = undefined;
    releases.answer = (request) =>
      request.url.includes(".minisig") ? answer(request) : new Response(large());
    await expectFailure(home, server, /signature.*404/);
    expect(sent).toBeLessThan(32 * MiB);
    releases.answer = () => new Response("none", { status: 404 });
    await expectFailure(home, server, /no such release/);
    const good = await signFile(two.path, name, "v2.0.0", ours);
    releases.answer = (request) => (request.url.includes(".minisig") ? new Response(good) : undefined);
    await expectRecovery({ home, server, versions }, wrongs.length + 2);
  },
);

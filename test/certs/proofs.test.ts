import { afterAll, expect } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bucketAt, issuedFor, orderingNode, problemOf, serverName, shownFor } from "../support/certs.ts";
import { tempFolder } from "../support/node.ts";
import { openPebble } from "../support/pebble.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

const kid = "kid-1";
const hmacKey = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
const opened = await openPebble({ externalAccounts: { [kid]: hmacKey } });
afterAll(() => opened?.[Symbol.asyncDispose]());

const longMs = 60_000;

if (opened !== undefined) {
  const pebble = opened;

  test(
    "a program of the operator's proves names in the DNS, for an authority that needs an external account",
    async () => {
      await using folder = await tempFolder();
      const hook = join(folder.path, "hook");
      const calls = join(folder.path, "calls");
      await writeFile(
        hook,
        `#!/bin/sh
echo "$1 $2" >> ${calls}
case "$2" in *broken*) echo "no such zone" >&2; exit 3;; esac
[ "$1" = remove ] && while [ ! -e ${folder.path}/go ]; do sleep 0.1; done
case "$1" in
  add) curl -sf -d "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" ${pebble.dnsUrl}/set-txt ;;
  remove) curl -sf -d "{\\"host\\":\\"$2.\\"}" ${pebble.dnsUrl}/clear-txt ;;
esac
`,
      );
      await chmod(hook, 0o755);
      const more = `dns_hook = "${hook}"\neab_kid = "${kid}"\neab_hmac_key = "${hmacKey}"
[s3]
listener = "127.0.0.1:0"
host = "s3.example.com"
`;
      await using node = await orderingNode(pebble, { more });
      // The certificate does not wait for a program that is slow to remove the record.
      await issuedFor(node, serverName);
      await writeFile(join(folder.path, "go"), "");
      const record = `_acme-challenge.${serverName}`;
      await until("the record is removed", async () => {
        return (await Bun.file(calls).text()).includes(`add ${record}\nremove ${record}\n`);
      });
      await until("buckets of S3 have a certificate", async () => {
        return (await shownFor(node.url, "photos.s3.example.com")).subject === "*.s3.example.com";
      });
      expect((await issuedFor(node, "s3.example.com")).subject).toBe("s3.example.com");
      await bucketAt(node, "broken", "broken.example.com");
      expect(await problemOf(node, "broken.example.com")).toMatchObject({
        reason: "dns_hook_failed",
        // What the program says may contain a secret: it is in the log alone.
        detail: expect.stringMatching(/exit code 3$/),
      });
      const entry = node.node.ring.entries().findLast(({ fields }) => fields.event === "certificate.failed");
      expect(entry?.fields).toMatchObject({ detail: expect.stringContaining("exit code 3: no such zone") });
    },
    longMs,
  );

  test(
    "an authority that needs an external account refuses a server without one",
    async () => {
      await using node = await orderingNode(pebble);
      expect(await problemOf(node, serverName)).toMatchObject({ reason: "account_refused" });
    },
    longMs,
  );
}

import { Fault } from "../../base/fault.ts";
import { command } from "../command.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import { reportCopies } from "../transfer/engine.ts";
import { relayFiles } from "../transfer/relay.ts";
import { listRemote } from "../transfer/remote-tree.ts";
import { bucketAddress } from "./bucket-address.ts";

/** Creates a bucket with the settings and the files of another one. Everything is read before anything is created. */
export const clone = command({
  name: "clone <name> <new>",
  summary: "create a bucket with the settings and files of another one, also on another server",
  needs: ["static-bucket_read", "static-bucket_create", "files"],
  options: [
    ...remoteJson,
    ["--to <server>", "create it on this saved server, or at this address (default: the same server)"],
  ],
  notes: `
Files are copied through this machine, with their times. The HTTP root and host names stay with the bucket that has
them; deploys and history are not copied.`,
  async run({ name, new: copy, to: server, ...options }, ctx) {
    const from = { client: await connect(ctx, options), bucket: name };
    const to = { client: server === undefined ? from.client : await connect(ctx, { server }), bucket: copy };
    const record = await from.client.call("static-bucket_read", { name });
    if (record === null) throw new Fault("NotFound", `the server has no bucket ${name}`);
    const { enable, cors, public: isPublic, clean_urls, is_http_root, hosts = [] } = record;
    if (!enable)
      throw new Fault(
        "InvalidInput",
        `${name} is disabled, so its files cannot be read; \`node-server buckets update ${name} --enable\` enables it`,
      );
    let isCreated = false;
    const ended = () =>
      isCreated
        ? `the clone is incomplete; \`node-server buckets delete ${copy} --files\` deletes it`
        : "nothing was created";
    return interruptible(
      ctx,
      () => `interrupted; ${ended()}`,
      async (signal) => {
        const listed = await listRemote(from.client, name, { missing: "it was deleted just now", signal });
        const files = [...listed].map(([path, file]) => ({ path, ...file }));
        // A token that may not change its files is refused before the bucket exists.
        await to.client.bucket(copy).find("", { signal });
        const settings = { cors, public: isPublic, clean_urls };
        const made = await to.client.call("static-bucket_create", { name: copy, ...settings });
        isCreated = true;
        const summary = await relayFiles(ctx, { from, to, files }, signal).catch((error: unknown) => {
          if (!signal.aborted) ctx.say(ended());
          throw error;
        });
        if (is_http_root || hosts.length > 0)
          ctx.say(
            `note: not copied: ${[...(is_http_root ? ["the HTTP root"] : []), ...hosts].join(", ")}; \`node-server buckets update ${copy}\` sets them`,
          );
        const { copied, bytes } = summary;
        const line = `${copy}: created with ${countText(copied, "file")} of ${name} (${sizeText(bytes)})`;
        return {
          ...reportCopies(ctx, { verb: "copied", summary, lines: [line] }),
          json: { bucket: made, ...summary },
          text: `${bucketAddress(to.client, made)}\n`,
        };
      },
    );
  },
});

import { Fault } from "../../base/fault.ts";
import { type NodeServerClient, NotFound, type PublishedDeploy } from "../../client/index.ts";
import { command, exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson, yes } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { countCell, sizeCell, timeCell } from "../terminal/table.ts";
import { checkDeploy, errorsIn, previewAddress, publishedAddress, reportProblems } from "./publish-result.ts";

/** Lists the deploys of a bucket, or checks, publishes, previews or deletes one. */
export const deploys = command({
  name: "deploys <bucket>",
  summary: "list the deploys of a bucket; check, publish, preview or delete one",
  needs: ["static-bucket_deploy_list"],
  options: [
    ...remoteJson,
    ["--publish <deploy>", "publish this deploy"],
    ["--check <deploy>", "list what publishing this deploy would change; it then accepts no more files"],
    ["--preview <deploy>", "print a preview address of this deploy, which then accepts no more files"],
    ["--delete <deploy>", "delete this deploy, after a question"],
    yes,
  ],
  async run({ bucket, ...options }, ctx) {
    const { publish, check, preview, delete: gone } = options;
    if ([publish, check, preview, gone].filter((id) => id !== undefined).length > 1)
      throw new WrongUsage("give only one of --publish, --check, --preview and --delete");
    const client = await connect(ctx, options);
    if (check !== undefined) {
      const checked = await checkDeploy(ctx, client, { bucket, deploy: check });
      const { files, ...others } = checked;
      const [listed, all] = [files.length, others.added + others.changed + others.removed];
      if (listed < all) ctx.say(`the first ${listed} of ${all} changes, by path:`);
      return {
        json: { deploy: check, ...checked },
        table: {
          head: ["CHANGE", "SIZE", "PATH"],
          rows: files.map(({ path, change, bytes }) => [change, sizeCell(ctx, bytes), path]),
        },
        code: errorsIn(checked) > 0 ? exitCodes.failed : exitCodes.done,
      };
    }
    if (publish !== undefined)
      return switched(ctx, client, bucket, () =>
        client.call("static-bucket_deploy_publish", { name: bucket, deploy: publish }),
      );
    if (preview !== undefined) {
      const made = await previewAddress(ctx, client, { bucket, deploy: preview });
      return { json: { deploy: preview, ...made }, text: `${made.address}\n` };
    }
    if (gone !== undefined) {
      await confirm(ctx, `This deletes the deploy ${gone} of ${bucket} and its files.`, options.yes);
      const result = await client.call("static-bucket_deploy_delete", { name: bucket, deploy: gone });
      ctx.say(`deleted the deploy ${gone}`);
      return { json: result };
    }
    return list(ctx, client, bucket);
  },
});

/** Publishes an earlier deploy again: the one that is named, or the one before the present one. */
export const rollback = command({
  name: "rollback <bucket> [deploy]",
  summary: "publish an earlier deploy again (default: the previous one)",
  needs: ["static-bucket_deploy_rollback"],
  options: remoteJson,
  async run({ bucket, deploy, ...options }, ctx) {
    const client = await connect(ctx, options);
    return switched(ctx, client, bucket, () =>
      client.call("static-bucket_deploy_rollback", { name: bucket, deploy }),
    );
  },
});

async function list(ctx: Context, client: NodeServerClient, bucket: string): Promise<Outcome> {
  const found = await client.call("static-bucket_deploy_list", { name: bucket });
  if (found.length === 0) ctx.say(`${bucket} has no deploys; \`node-server deploy DIR ${bucket}\` makes one`);
  return {
    json: found,
    table: {
      head: ["DEPLOY", "STATE", "PUBLISHED", "MADE", "BY", "FILES", "SIZE", "NOTE"],
      rows: found.map(
        ({ deploy, state, preview, changed, published_at, made_at, by, files, bytes, note }) => [
          deploy,
          [state, ...(changed ? ["changed"] : []), ...(preview === null ? [] : [`preview ${preview}`])].join(
            ", ",
          ),
          published_at === null ? "-" : timeCell(ctx, published_at),
          timeCell(ctx, made_at),
          by,
          files === null ? "-" : countCell(ctx, files),
          bytes === null ? "-" : sizeCell(ctx, bytes),
          note,
        ],
      ),
    },
  };
}

async function switched(
  ctx: Context,
  client: NodeServerClient,
  bucket: string,
  change: () => Promise<PublishedDeploy>,
): Promise<Outcome> {
  const published = await change().catch((error: unknown) => {
    if (!(error instanceof NotFound)) throw error;
    // `name` is the param that names the bucket.
    const hint =
      error.data.field === "name"
        ? "`node-server ls` lists the buckets of this token"
        : `\`node-server deploys ${bucket}\` lists the deploys of the bucket`;
    throw new Fault("NotFound", `${error.detail}; ${hint}`);
  });
  reportProblems(ctx, published);
  const address = publishedAddress(client, bucket, published);
  const { deploy, replaced, problems } = published;
  ctx.say(`${bucket}: published ${deploy}${replaced === null ? "" : ` (was ${replaced})`}`);
  return { json: { deploy, replaced, problems, address }, text: `${address}\n` };
}

import { visible } from "../../base/visible-text.ts";
import { type CommandRow, command } from "../command.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { timeCell } from "../terminal/table.ts";

const list = command({
  name: "list",
  summary: "list the webhooks, what waits for each, and what went wrong",
  needs: ["hooks_list"],
  isDefault: true,
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const found = await client.call("hooks_list");
    if (found.length === 0)
      ctx.say("the server has no webhooks: write [[hooks]] into its configuration (docs/hooks.md says how)");
    const time = (at: number | undefined) => (at === undefined ? "-" : timeCell(ctx, at));
    return {
      json: found,
      table: {
        head: ["HOOK", "URL", "WAITING", "DELIVERED", "LOST", "LAST", "NEXT TRY", "LAST ERROR"],
        rows: found.map(({ hook, url, waiting, delivered, lost, delivered_at, retry_at, problem }) => [
          hook,
          visible(url),
          String(waiting),
          String(delivered),
          String(lost),
          time(delivered_at),
          time(retry_at),
          problem === undefined ? "-" : visible(`${problem.reason} ${problem.status ?? ""}`.trim()),
        ]),
      },
    };
  },
});

const test = command({
  name: "test <hook>",
  summary: "send the event `hook.test` to a webhook now",
  needs: ["hooks_test"],
  options: remoteJson,
  async run({ hook, ...options }, ctx) {
    const client = await connect(ctx, options);
    const done = await client.call("hooks_test", { hook });
    ctx.say("queued; `node-server hooks` shows what comes of it");
    return { json: done };
  },
});

export const hooks: CommandRow = {
  name: "hooks",
  summary: "list and test the webhooks of a server",
  commands: [list, test],
};

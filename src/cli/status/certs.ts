import { visible } from "../../base/visible-text.ts";
import { type CommandRow, command } from "../command.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { timeCell } from "../terminal/table.ts";

const list = command({
  name: "list",
  summary: "list the names, the ends of their certificates, and what went wrong",
  needs: ["node-server_certificates"],
  isDefault: true,
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const found = await client.call("node-server_certificates");
    const time = (at: number | null) => (at === null ? "-" : timeCell(ctx, at));
    if (found.length === 0)
      ctx.say(
        "the server has no name to order a certificate for; write auto = true and server_name below [tls] in its configuration (`node-server status` shows when the certificate of tls_cert ends)",
      );
    for (const { name, problem } of found)
      if (problem !== null) ctx.say(visible(`${name}: ${problem.advice} (${problem.detail})`));
    return {
      json: found,
      table: {
        head: ["NAME", "STATE", "ISSUER", "END", "NEXT TRY", "LAST ERROR"],
        rows: found.map(({ name, state, issuer, until, renew_at, problem }) => [
          name,
          state,
          issuer ?? "-",
          time(until),
          time(problem?.retry_at ?? renew_at),
          problem?.reason ?? "-",
        ]),
      },
    };
  },
});

const renew = command({
  name: "renew <name>",
  summary: "order a new certificate for a name now; the one in force stays until then",
  needs: ["node-server_renew_certificate"],
  options: remoteJson,
  async run({ name, ...options }, ctx) {
    const client = await connect(ctx, options);
    const before = await client.call("node-server_renew_certificate", { name });
    ctx.say("ordered; `node-server certs` shows what comes of it");
    return { json: before };
  },
});

export const certs: CommandRow = {
  name: "certs",
  summary: "list and renew the certificates that a server orders by itself",
  commands: [list, renew],
};

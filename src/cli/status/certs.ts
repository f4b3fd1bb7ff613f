import { visible } from "../../base/visible-text.ts";
import {
  MethodNotFound,
  type NodeServerClient,
  PermissionDenied,
  type ResultOf,
} from "../../client/index.ts";
import { type CommandRow, command } from "../command.ts";
import type { Context } from "../context.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { timeCell } from "../terminal/table.ts";

type Certificate = ResultOf<"node-server_certificates">[number];

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
    if (found.length === 0) ctx.say(await whyNone(client));
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
      after: found.flatMap(({ name, problem }) =>
        problem === null ? [] : [visible(problemText({ name }, problem))],
      ),
    };
  },
});

async function whyNone(client: NodeServerClient): Promise<string> {
  const { orders_certificates } = await client.call("node-server_status");
  return orders_certificates
    ? "the server orders certificates and has no name for one: write server_name below [tls] in its configuration, or give a bucket a host name"
    : "the server orders no certificates: write auto = true and server_name below [tls] in its configuration (`node-server status` shows when the certificate of tls_cert ends)";
}

function problemText(
  { name }: Pick<Certificate, "name">,
  { advice, detail }: NonNullable<Certificate["problem"]>,
): string {
  return `${name}: ${advice} (${detail})`;
}

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

/** Says of host names of a bucket how far their certificates are, if the server orders them and the token may know. */
export async function reportCertificates(
  ctx: Context,
  client: NodeServerClient,
  hosts: readonly string[],
): Promise<void> {
  if (hosts.length === 0) return;
  const found = await client.call("node-server_certificates").catch((error: unknown) => {
    // A server before this one does not know it.
    if (error instanceof PermissionDenied || error instanceof MethodNotFound) return [];
    throw error;
  });
  for (const one of found) {
    if (!hosts.includes(one.name) || (one.state === "issued" && one.problem === null)) continue;
    ctx.say(
      one.problem === null
        ? `note: the certificate for ${one.name} is being issued; \`node-server certs\` shows when it is there`
        : `note: ${visible(problemText(one, one.problem))}; \`node-server certs\` shows what comes of it`,
    );
  }
}

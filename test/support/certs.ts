import { connect } from "node:tls";
import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";
import type { Pebble } from "./pebble.ts";
import { until } from "./until.ts";

/** Names that nobody else uses; the DNS server of Pebble leads all of them to this machine. */
export const serverName = "node.example.com";

/** Options for a server that orders its certificates from Pebble. */
export function ordersFrom(pebble: Pebble, more = ""): Pick<TestNodeOptions, "top" | "reach"> {
  return {
    top: `http_listener = "127.0.0.1:${pebble.httpPort}"
[tls]
auto = true
email = "admin@example.com"
server_name = "${serverName}"
directory = "${pebble.directory}"
ca = ${JSON.stringify(pebble.caPath)}
${more}`,
    reach: (name) => pebble.reach(name),
  };
}

/** Options for a server that orders certificates for `shop.example.com` where nobody gives any. */
export const orderingCertificates: Pick<TestNodeOptions, "top" | "reach"> = {
  top: `http_listener = "127.0.0.1:0"
[tls]
auto = true
server_name = "shop.example.com"
directory = "https://127.0.0.1:1/directory"
`,
  reach: async () => "http://127.0.0.1:1",
};

/** A server that orders its certificates from Pebble. */
export function orderingNode(pebble: Pebble, options: TestNodeOptions & { readonly more?: string } = {}) {
  const { more, ...others } = options;
  return testNode({ logging: 'memory_log_filter = "info"\n', ...ordersFrom(pebble, more), ...others });
}

/** What a client is shown that asks for a name: for whom the certificate is, and by whom. */
export interface Shown {
  readonly subject: string;
  readonly issuer: string;
  readonly serial: string;
}

/** What a client of TLS is shown that asks for a name. */
export function shownFor(url: string, servername: string): Promise<Shown> {
  const { hostname: host, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Shown>();
  const socket = connect({ host, port: Number(port), servername, rejectUnauthorized: false }, () => {
    const { subjectaltname = "", issuer, serialNumber } = socket.getPeerCertificate();
    resolve({ subject: subjectaltname.replace("DNS:", ""), issuer: String(issuer.CN), serial: serialNumber });
    socket.end();
  });
  socket.on("error", reject);
  return promise;
}

/** The certificate of Pebble for a name, once a server shows it. */
export async function issuedFor({ url }: Pick<TestNode, "url">, name: string): Promise<Shown> {
  let shown: Shown | undefined;
  await until(
    `${name} has a certificate`,
    async () => {
      shown = await shownFor(url, name);
      return shown.subject === name && shown.issuer.startsWith("Pebble");
    },
    15_000,
  );
  return shown as Shown;
}

/** The state of one name, as the method tells it. */
export async function stateOf(node: TestNode, name: string): Promise<Record<string, unknown>> {
  const states = (await node.call("node-server_certificates", [node.superToken])) as Array<{ name: string }>;
  const state = states.find((other) => other.name === name);
  if (state === undefined) throw new Error(`${name} is not in ${JSON.stringify(states)}`);
  return { ...state };
}

/** Waits until an attempt for a name has failed, and returns why. */
export async function problemOf(node: TestNode, name: string): Promise<Record<string, unknown>> {
  let problem: unknown;
  await until(
    `${name} has a problem`,
    async () => {
      problem = (await stateOf(node, name)).problem;
      return problem !== null;
    },
    15_000,
  );
  return problem as Record<string, unknown>;
}

/** A bucket with a host name. */
export async function bucketAt(node: TestNode, name: string, host: string): Promise<void> {
  await node.call("static-bucket_create", {
    token: node.superToken,
    name,
    path: name,
    is_http_root: false,
    cors: false,
    hosts: [host],
  });
}

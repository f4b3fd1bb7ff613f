import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "./certificate.ts";
import { freePort } from "./postgres.ts";
import { findProgram } from "./tools.ts";
import { until } from "./until.ts";

/** A request to the certificate authority, before it gets there; a response answers in its place. */
type Intercept = (path: string, body: string) => Promise<Response | undefined> | Response | undefined;

interface PebbleOptions {
  /** Accounts need one of these keys: HMAC keys in base64url by their id. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
}

/** Pebble is a real ACME server, with a relay before it in which requests can fail, and a DNS server whose names are told to it. */
export interface Pebble extends AsyncDisposable {
  /** The address of the directory. */
  readonly directory: string;
  /** The file with the certificate that clients of the directory must trust. */
  readonly caPath: string;
  /** Where it reads the answers to http-01. */
  readonly httpPort: number;
  /** Paths of all requests so far, without those that Pebble wants once more: it refuses every tenth, for its nonce. */
  readonly requests: string[];
  /** Asked before each request; undefined passes all. */
  intercept: Intercept | undefined;
  /** Called after the next request that was passed on has been answered, before the answer is sent. */
  answered: ((path: string) => void) | undefined;
  /** Adds a field to the directory. */
  advertise: Record<string, string>;
  /** The address at which the DNS server is told what to answer. */
  readonly dnsUrl: string;
  /** Says something to the DNS server: https://github.com/letsencrypt/pebble/tree/main/cmd/pebble-challtestsrv */
  dns(command: string, body: unknown): Promise<void>;
  /** Ends the authority and starts another one at the same address, which knows no account. */
  forget(): Promise<void>;
  /** Where a server on this machine is reached by a name. */
  reach(name: string): Promise<string>;
  /** Names that lead nowhere (undefined) or elsewhere, for `reach`. */
  readonly elsewhere: Map<string, string | undefined>;
}

/** `openPebble` starts one for a story or a file; undefined where it is not installed. */
export async function openPebble({ externalAccounts }: PebbleOptions = {}): Promise<Pebble | undefined> {
  const program = findProgram("the stories of certificates", "pebble");
  const dnsProgram = findProgram("the stories of certificates", "pebble-challtestsrv", "pebble");
  if (program === undefined || dnsProgram === undefined) return undefined;
  await using starting = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "node-server-pebble-"));
  starting.defer(() => rm(folder, { recursive: true, force: true }));
  if (!(await makeCertificate({ path: folder }, "pebble"))) return undefined;
  const [port, management, dnsPort, dnsManagement, httpPort, tlsPort] = (await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  )) as [number, number, number, number, number, number];
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: join(folder, "cert.pem"),
      privateKey: join(folder, "key.pem"),
      httpPort,
      tlsPort,
      ocspResponderURL: "",
      externalAccountBindingRequired: externalAccounts !== undefined,
      externalAccountMACKeys: externalAccounts ?? {},
    },
  };
  const configPath = join(folder, "pebble.json");
  await writeFile(configPath, JSON.stringify(config));
  const spawn = (command: string[]) =>
    Bun.spawn(command, {
      stdout: "ignore",
      stderr: "ignore",
      env: {
        PATH: process.env.PATH,
        PEBBLE_VA_NOSLEEP: "1",
        PEBBLE_WFE_NONCEREJECT: "10",
        PEBBLE_AUTHZREUSE: "0",
      },
    });
  const dns = spawn([
    dnsProgram,
    ...["-dns01", `127.0.0.1:${dnsPort}`, "-management", `127.0.0.1:${dnsManagement}`],
    ...["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""],
  ]);
  const start = () => spawn([program, "-config", configPath, "-dnsserver", `127.0.0.1:${dnsPort}`]);
  let authority = start();
  starting.defer(async () => {
    for (const child of [authority, dns]) {
      child.kill("SIGKILL");
      await child.exited;
    }
  });
  const own = { tls: { rejectUnauthorized: false } };
  const answers = () =>
    until(
      "pebble answers",
      async () => (await fetch(`https://127.0.0.1:${port}/dir`, own).catch(() => undefined))?.ok,
    );
  await answers();
  const requests: string[] = [];
  const relay: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: Bun.file(join(folder, "cert.pem")), key: Bun.file(join(folder, "key.pem")) },
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url);
      const body = await request.text();
      requests.push(pathname);
      const answered = await pebble.intercept?.(pathname, body);
      if (answered !== undefined) return answered;
      const response = await fetch(`https://127.0.0.1:${port}${pathname}`, {
        ...own,
        method: request.method,
        headers: { ...Object.fromEntries(request.headers), host: `127.0.0.1:${relay.port}` },
        ...(body === "" ? {} : { body }),
      });
      if (response.status === 400 && (await response.clone().text()).includes("badNonce")) {
        requests.splice(requests.lastIndexOf(pathname), 1);
        return response;
      }
      pebble.answered?.(pathname);
      if (pathname !== "/dir") return response;
      return Response.json({ ...((await response.json()) as object), ...pebble.advertise });
    },
  });
  starting.defer(() => relay.stop(true));
  const started = starting.move();
  const pebble: Pebble = {
    directory: `https://127.0.0.1:${relay.port}/dir`,
    caPath: join(folder, "cert.pem"),
    httpPort,
    requests,
    intercept: undefined,
    answered: undefined,
    dnsUrl: `http://127.0.0.1:${dnsManagement}`,
    advertise: {},
    async dns(command, told) {
      const response = await fetch(`http://127.0.0.1:${dnsManagement}/${command}`, {
        method: "POST",
        body: JSON.stringify(told),
      });
      if (!response.ok) throw new Error(`${command}: ${await response.text()}`);
    },
    async forget() {
      authority.kill("SIGKILL");
      await authority.exited;
      authority = start();
      await answers();
    },
    elsewhere: new Map(),
    async reach(name) {
      if (!pebble.elsewhere.has(name)) return `http://127.0.0.1:${httpPort}`;
      const origin = pebble.elsewhere.get(name);
      if (origin === undefined) throw Object.assign(new Error(`${name} is not known`), { code: "ENOTFOUND" });
      return origin;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
  return pebble;
}

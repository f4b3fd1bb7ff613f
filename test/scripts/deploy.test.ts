import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { otherVariables, variableOf } from "../../src/config/environment.ts";
import { settings } from "../../src/config/schema.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";
import { newHome } from "../support/process.ts";

const root = resolve(import.meta.dir, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

type Variables = Readonly<Record<string, string>>;

interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment: Variables;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<"db" | "init" | "node-server", ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** The cluster: services of Docker Compose by name. */
interface ClusterCompose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<"caddyfile", { readonly content: string }>>;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env: readonly { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[];
  readonly ports?: readonly { name: string; containerPort: number }[];
  readonly volumeMounts: readonly { name: string; mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface StatefulSet {
  readonly kind: "StatefulSet";
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
        readonly initContainers: readonly [Container];
        readonly containers: readonly [Container];
      };
    };
    readonly volumeClaimTemplates: readonly { metadata: { name: string } }[];
  };
}

const { services, volumes } = Bun.YAML.parse(read("deploy/compose.yaml")) as Compose;
const cluster = Bun.YAML.parse(read("deploy/compose.cluster.yaml")) as ClusterCompose;
const clusterNodes = Object.entries(cluster.services).filter(([name]) => /^(init|node-\d)$/.test(name));
const [service, statefulSet] = Bun.YAML.parse(read("deploy/kubernetes.yaml")) as [
  { kind: "Service"; spec: { ports: readonly { port: number; targetPort: string }[] } },
  StatefulSet,
];
const pod = statefulSet.spec.template.spec;
const dockerfile = read("Dockerfile");
const port = Number(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]);
const known = new Set([...settings.map(variableOf), ...Object.keys(otherVariables)]);

test("every variable of the examples is one that the server reads", () => {
  const names = [
    ...Object.keys(services["node-server"].environment),
    ...Object.keys(services.init.environment),
    ...clusterNodes.flatMap(([, { environment }]) => Object.keys(environment)),
    ...[...pod.initContainers, ...pod.containers].flatMap(({ env }) => env.map(({ name }) => name)),
  ];
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test("the examples use the port, the user and the volume of the image", () => {
  expect(services["node-server"].ports).toEqual([`127.0.0.1:${port}:${port}`]);
  for (const name of ["init", "node-server"] as const) {
    const [volume = "", path] = services[name].volumes[0]?.split(":") ?? [];
    expect([name, volume in volumes, path]).toEqual([name, true, "/data"]);
  }
  const [container] = pod.containers;
  expect(container.ports).toEqual([{ name: "http", containerPort: port }]);
  expect(service.spec.ports.map(({ port: own, targetPort }) => [own, targetPort])).toEqual([[port, "http"]]);
  const { runAsUser, runAsGroup } = pod.securityContext;
  expect(dockerfile).toContain(`\nUSER ${runAsUser}:${runAsGroup}\n`);
  const [claim = ""] = statefulSet.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name);
  for (const { name, volumeMounts } of [...pod.initContainers, ...pod.containers])
    expect([name, volumeMounts]).toEqual([name, [{ name: claim, mountPath: "/data" }]]);
});

test("init runs first, with the same settings as the server, and both get their secrets from outside of the file", () => {
  expect(services.init.command).toEqual(["init"]);
  expect(services["node-server"].depends_on?.init?.condition).toBe("service_completed_successfully");
  expect(services.init.environment).toEqual(services["node-server"].environment);
  for (const value of Object.values(services.init.environment)) expect(value).toMatch(/\$\{\w+:\?/);
  const [init, container] = [pod.initContainers[0], pod.containers[0]];
  expect(init.args).toEqual(["init"]);
  expect(init.env).toEqual(container.env);
  const text = read("deploy/kubernetes.yaml");
  for (const { valueFrom } of init.env) {
    expect(valueFrom.secretKeyRef.name).toBe("node-server");
    expect(text).toContain(`--from-literal=${valueFrom.secretKeyRef.key}=`);
  }
});

test("the nodes of the cluster share a database and a store, and have a volume, a name and an address each", () => {
  const nodes = clusterNodes.filter(([name]) => name !== "init");
  expect(nodes.map(([name]) => name)).toEqual(["node-1", "node-2", "node-3"]);
  const own = ["NODE_SERVER_NODE_NAME", "NODE_SERVER_NODE_URL"];
  const shared = (variables: Variables) =>
    Object.fromEntries(Object.entries(variables).filter(([name]) => !own.includes(name)));
  for (const [name, { environment, volumes: mounted, depends_on: needs }] of nodes) {
    expect([name, shared(environment)]).toEqual([name, cluster.services.init?.environment ?? {}]);
    expect(own.map((variable) => environment[variable])).toEqual([name, `http://${name}:${port}`]);
    expect([mounted, name in cluster.volumes]).toEqual([[`${name}:/data`], true]);
    expect(needs?.init?.condition).toBe("service_completed_successfully");
  }
  expect(cluster.services.init?.environment).toMatchObject({
    NODE_SERVER_FILES_URL: expect.stringMatching(/^s3:/),
    NODE_SERVER_DATABASE_URL: expect.stringMatching(/^postgres:/),
  });
});

const caddy = Bun.which("caddy");
const caddyfiles = {
  "deploy/compose.cluster.yaml": cluster.configs.caddyfile.content,
  "docs/cluster.md": /^```caddy\n(.*?)^```/ms.exec(read("docs/cluster.md"))?.[1] ?? "",
};
if (caddy === null) console.log("SKIPPED: the Caddyfiles of the examples need caddy");
for (const [file, text] of Object.entries(caddyfiles))
  test.skipIf(caddy === null)(`the Caddyfile of ${file} is valid, and asks for readiness`, async () => {
    expect(text).toContain("health_uri /node/ready\n");
    await using home = await newHome();
    const path = join(home.path, "Caddyfile");
    await Bun.write(path, text);
    const checked = Bun.spawn([caddy ?? "", "validate", "--adapter", "caddyfile", "--config", path], {
      env: { HOME: home.path },
      stderr: "pipe",
    });
    const output = await new Response(checked.stderr).text();
    expect((await checked.exited) === 0 || output).toBe(true);
  });

/** What Docker Compose makes of `${NAME:?message}`. */
function interpolate(text: string, values: Variables): string {
  return text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => values[name] ?? "");
}

test("what they describe is a server that answers its probes, and whose output holds no secret", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome();
  await rm(home.configPath);
  const values = {
    POSTGRES_PASSWORD: "hunter2",
    NODE_SERVER_SUPER_TOKEN: `${"k".repeat(16)}:${"s".repeat(32)}`,
  };
  const given = Object.entries(services["node-server"].environment).map(
    ([name, value]) => [name, interpolate(value, values)] as const,
  );
  const { username, host, pathname } = new URL(database.url);
  const env: Variables = {
    ...Object.fromEntries(
      given.map(([name, value]) => [
        name,
        value.replace("node:", `${username}:`).replace("db:5432/node", host + pathname),
      ]),
    ),
    NODE_SERVER_WS_LISTENER: `0.0.0.0:${await freePort()}`,
  };
  expect(env.NODE_SERVER_DATABASE_URL).toContain(":hunter2@");
  const made = await home.run(["init"], { env });
  expect(made).toMatchObject({ code: 0, stdout: "" });
  const server = await home.launch({ env }, ["serve", "-c", home.configPath]).ready();
  const url = `http://127.0.0.1:${server.address.port}`;
  const [{ startupProbe, livenessProbe, readinessProbe }] = pod.containers;
  for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
    const path = probe?.httpGet.path;
    expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
  }
  await server.call("token_list_all_tokens", [values.NODE_SERVER_SUPER_TOKEN]);
  const { stdout, stderr } = await server.stop();
  expect(made.stderr + stdout + stderr).not.toMatch(/hunter2|s{32}/);
  await database.drop();
});

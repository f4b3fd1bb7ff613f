import { expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import { otherVariables, readOverrides, variableOf } from "../../src/config/environment.ts";
import { parseConfig } from "../../src/config/parse.ts";
import { settings } from "../../src/config/schema.ts";

const text = 'ws_listener = "127.0.0.1:1"\n[database]\ndatabase_url = "sqlite:x"\n';
const file = "/srv/node/config.toml";

function read(env: Record<string, string>, toml = text) {
  return parseConfig(toml, file, readOverrides(env)).config;
}

function refusalOf(env: Record<string, string>, toml = text): Fault {
  try {
    read(env, toml);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("was accepted");
}

test("every key has a variable of its own, and none is the name of another variable", () => {
  const variables = settings.map(variableOf);
  expect(new Set(variables).size).toBe(settings.length);
  expect(variables.filter((name) => name in otherVariables)).toEqual([]);
});

test.each(
  settings.map(
    (setting) => [variableOf(setting), setting.path, setting.key.example ?? setting.key.initial] as const,
  ),
)("%s takes the value that the file may have", (variable, path, example) => {
  const { values } = readOverrides({ [variable]: String(example ?? 1) });
  expect(values.map(({ path: key, from }) => ({ key, from }))).toEqual([{ key: path, from: variable }]);
});

test("numbers, booleans, addresses, filters and paths are read as the file's are", () => {
  const config = read({
    NODE_SERVER_WS_LISTENER: "0.0.0.0:2211",
    NODE_SERVER_MAX_CONNECTIONS: "25",
    NODE_SERVER_CONSOLE: "false",
    NODE_SERVER_ENABLE_UNIX_SOCKET: "1",
    NODE_SERVER_LOG_FILTER: "warn,db=trace",
    NODE_SERVER_STATIC_PATH: "files",
    NODE_SERVER_DATABASE_URL: "sqlite://other/node.db?mode=rwc",
  });
  expect(config).toMatchObject({
    ws_listener: { host: "0.0.0.0", port: 2211 },
    console: false,
    enable_unix_socket: true,
    static_path: "/srv/node/files",
    unix_socket_path: "/srv/node/other/node.sock",
    database: { max_connections: 25, database_url: "sqlite:///srv/node/other/node.db?mode=rwc" },
  });
  expect(config.logging.log_filter?.text).toBe("warn,db=trace");
});

test("a variable may give what the file lacks, and an empty one gives nothing", () => {
  const env = { NODE_SERVER_WS_LISTENER: "127.0.0.1:3", NODE_SERVER_DATABASE_URL: "postgres://h/n" };
  expect(read(env, "").database.database_url).toBe("postgres://h/n");
  expect(read({ NODE_SERVER_WS_LISTENER: "", NODE_SERVER_DATABASE_URL: "" })).toEqual(read({}));
});

test("an option of the command line wins over the environment", () => {
  const overrides = readOverrides({ NODE_SERVER_WS_LISTENER: "127.0.0.1:3" }, { listen: "127.0.0.1:4" });
  expect(parseConfig(text, file, overrides).config.ws_listener.port).toBe(4);
  expect(overrides.values.map(({ from }) => from)).toEqual(["--listen"]);
});

test.each([
  [
    "NODE_SERVER_WS_LISTENER",
    "7333",
    'must be an address and a port, such as "127.0.0.1:2211" or "[::1]:2211"',
  ],
  ["NODE_SERVER_MAX_CONNECTIONS", "many", "must be a whole number, such as 10"],
  ["NODE_SERVER_MAX_CONNECTIONS", "1.5", "must be a whole number, such as 10"],
  ["NODE_SERVER_TIMEOUT_MS", "0", "must be 1 or more"],
  ["NODE_SERVER_CONSOLE", "perhaps", "must be true or false"],
  ["NODE_SERVER_LOG_FILTER", "db=loud", expect.stringContaining("`loud` is not a level")],
  ["NODE_SERVER_TLS_CERT", "cert.pem", expect.stringContaining("needs tls_key, too")],
  [
    "NODE_SERVER_DATABASE_URL",
    "mysql://root:hunter2@db/x",
    expect.stringContaining("must begin with sqlite:"),
  ],
])("%s=%s is refused by its name, without a place in the file", (variable, value, why) => {
  const { data, detail } = refusalOf({ [variable]: value });
  const field = settings.find((setting) => variableOf(setting) === variable)?.path.join(".");
  expect(data.problems).toEqual([{ field, from: variable, why }]);
  expect(detail).toStartWith(`${variable}: `);
  expect(detail).not.toContain("hunter2");
});

test("mistakes in the file keep their place beside those in the environment", () => {
  const fault = refusalOf({ NODE_SERVER_CONSOLE: "perhaps" }, `console = 5\nmax_upload_size = -1\n${text}`);
  expect(fault.detail.split("\n")).toEqual([
    "/srv/node/config.toml:2:19: max_upload_size: must be 0 or more",
    "NODE_SERVER_CONSOLE: must be true or false",
  ]);
});

test("a variable that is close to a key is warned of; those of Kubernetes and of the program are not", () => {
  const env = {
    NODE_SERVER_WS_LISTNER: "x",
    NODE_SERVER_LISTENER: "x",
    NODE_SERVER_SERVICE_HOST: "10.0.0.1",
    NODE_SERVER_SERVICE_PORT: "2211",
    NODE_SERVER_SERVICE_PORT_HTTP: "2211",
    NODE_SERVER_PORT: "tcp://10.0.0.1:2211",
    NODE_SERVER_PORT_2211_TCP: "tcp://10.0.0.1:2211",
    NODE_SERVER_PORT_2211_TCP_PROTO: "tcp",
    NODE_SERVER_PORT_2211_TCP_PORT: "2211",
    NODE_SERVER_PORT_2211_TCP_ADDR: "10.0.0.1",
    NODE_SERVER_BINARY: "dist/node-server",
    ...otherVariables,
  };
  const why = "is unknown and has no effect; did you mean NODE_SERVER_WS_LISTENER?";
  expect(readOverrides(env).warnings).toEqual(
    ["NODE_SERVER_WS_LISTNER", "NODE_SERVER_LISTENER"].map((name) => ({
      field: name,
      from: name,
      why,
      about: "key",
    })),
  );
});

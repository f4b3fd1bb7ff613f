import { expect, test } from "bun:test";
import { readOverrides } from "../../src/config/environment.ts";
import { parseConfig } from "../../src/config/parse.ts";

const base = 'ws_listener = "127.0.0.1:1"\n[database]\ndatabase_url = "sqlite:x"\n';
const file = "/srv/node/config.toml";
const aws = {
  AWS_ACCESS_KEY_ID: "AKIAX",
  AWS_SECRET_ACCESS_KEY: "hunter2",
  AWS_REGION: "eu-central-1",
  AWS_ENDPOINT_URL: "http://127.0.0.1:8333",
};
const read = (env: Record<string, string>, toml: string) => parseConfig(toml, file, readOverrides(env));

test("the usual variables of S3 stand in for keys that are not set", () => {
  const { config, overrides } = read(aws, `${base}[files]\nurl = "s3://bucket/prefix"\nregion = "local"\n`);
  expect(config.files).toMatchObject({
    access_key_id: "AKIAX",
    secret_access_key: "hunter2",
    region: "local",
    endpoint: "http://127.0.0.1:8333",
    cache_path: "/srv/node/blob-cache",
  });
  expect(overrides.map(({ from }) => from)).toEqual([
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ENDPOINT_URL",
  ]);
});

test("they have no effect on files that are not in S3", () => {
  for (const files of ["", '[files]\nurl = "file:///srv/blobs"\n']) {
    const { config, overrides } = read(aws, base + files);
    expect(config.files.access_key_id).toBeUndefined();
    expect(overrides).toEqual([]);
  }
});

test("NODE_SERVER_FILES_ variables win over them and over the file", () => {
  const env = { ...aws, NODE_SERVER_FILES_URL: "s3://other", NODE_SERVER_FILES_ACCESS_KEY_ID: "own" };
  const { config } = read(env, `${base}[files]\nurl = "file:///srv/blobs"\n`);
  expect(config.files).toMatchObject({
    url: "s3://other",
    access_key_id: "own",
    secret_access_key: "hunter2",
  });
});

test("a variable with a value that cannot be is named, and its value is not", () => {
  const env = { ...aws, AWS_ENDPOINT_URL: "https://AKIA:hunter2@s3.example.com" };
  expect(() => read(env, `${base}[files]\nurl = "s3://bucket"\n`)).toThrow(
    /AWS_ENDPOINT_URL: must not contain keys or options; [^:@]*$/,
  );
});

test("files with names in PostgreSQL need a second connection", () => {
  const text = base.replace("sqlite:x", "postgres://h/n").concat("max_connections = 1\n");
  expect(read({}, text).config.database.max_connections).toBe(1);
  expect(() => read({}, `${text}[files]\nurl = "file:///srv/blobs"\n`)).toThrow(
    "config.toml:4:19: database.max_connections: must be 2 or more with [files] url",
  );
});

import { expect } from "bun:test";
import { resolve } from "node:path";
import { newKeyPair } from "../../scripts/minisign.ts";

/** Case is what one key of the configuration accepts and refuses. */
export interface Case {
  /** TOML values that are read, each with what it is read as. */
  readonly good: ReadonlyArray<readonly [toml: string, value: unknown]>;
  /** TOML values that are refused, each with a word of the reason. */
  readonly bad: ReadonlyArray<readonly [toml: string, why: RegExp]>;
}

const notText: Case["bad"] = [
  ["5", /: must be a text in quotes, such as "/],
  ["true", /: must be a text in quotes, such as "/],
  ['["a"]', /: must be a text in quotes, such as "/],
];
const notNumber: Case["bad"] = [
  ['"5"', /: must be a whole number without quotes(, in bytes)?, such as [1-9]\d*$/],
  ["1.5", /: must be a whole number/],
  ["-1", /: must be [01] or more$/],
  ["nan", /: must be a whole number/],
  ["inf", /: must be a whole number/],
  ["1979-05-27", /: must be a whole number/],
];
const notBoolean: Case["bad"] = [
  ['"true"', /: must be true or false, without quotes$/],
  ["1", /: must be true or false, without quotes$/],
];
const path: Case = {
  good: [['"some/path"', resolve("some/path")]],
  bad: [...notText, ['""', /: must not be empty; write "/]],
};
const filter: Case = {
  good: [['"info,db=trace"', expect.objectContaining({ text: "info,db=trace" })]],
  bad: [
    ...notText,
    ['""', /is empty/],
    ['"loud=very"', /`very` is not a level/],
    ['"a b"', /is not a level/],
  ],
};
const ms = (least: number): Case => ({
  good: [
    [String(least), least],
    ["2147483647", 2_147_483_647],
  ],
  bad: [
    ...notNumber,
    ["2147483648", /: must be 2147483647 or less$/],
    ...(least === 1 ? [["0", /: must be 1 or more$/] as const] : []),
  ],
});
const bytes = (least: number, most: number): Case => ({
  good: [
    [String(least), least],
    [String(most), most],
  ],
  bad: [...notNumber, ...(least === 1 ? [["0", /: must be 1 or more$/] as const] : [])],
});
/** Passwords with a special character that is not encoded, which would be read as another host, path or query. */
const ambiguousUrls = [
  "postgres://u:p@ss/w#rd@h/n",
  "postgres://u:p@ss@h/n",
  "postgres://u:p@ss/word@h/n",
  "postgres://u:12/word@h/n",
  "postgres://u:12?word@h/n",
  "postgres://u:p@ss?word@h/n",
  "postgres://u:12#word@h/n",
  "postgres://u:p@ss#word",
];

const GiB = 1024 ** 3;
const publicKey = newKeyPair().public.split("\n")[1] ?? "";

/** `cases` are the values of every key. */
export const cases: Readonly<Record<string, Case>> = {
  ws_listener: {
    good: [
      ['"127.0.0.1:2211"', { host: "127.0.0.1", port: 2211 }],
      ['"localhost:0"', { host: "localhost", port: 0 }],
      ['"[::1]:80"', { host: "::1", port: 80 }],
    ],
    bad: [
      ...notText,
      ['"127.0.0.1"', /an address and a port, such as/],
      ['"127.0.0.1:65536"', /an address and a port, such as/],
      ['""', /an address and a port, such as/],
    ],
  },
  http_listener: {
    good: [['"0.0.0.0:80"', { host: "0.0.0.0", port: 80 }]],
    bad: [...notText, ['"80"', /an address and a port, such as/]],
  },
  server_uuid: {
    good: [
      ['"auto_gen"', "auto_gen"],
      ['"7C9E6679-7425-40DE-944B-E07FC1F90AE7"', "7C9E6679-7425-40DE-944B-E07FC1F90AE7"],
    ],
    bad: [
      ["5", /UUID/],
      ['"automatic"', /UUID/],
      ['""', /UUID/],
      ['"7c9e6679-7425-40de-944b-e07fc1f90ae"', /UUID/],
    ],
  },
  link_key_file: path,
  trusted_proxies: {
    good: [
      ["[]", []],
      [
        '["127.0.0.1", "10.0.0.0/8", "2001:DB8::/32", "unix"]',
        [
          { address: "127.0.0.1", prefix: 32 },
          { address: "10.0.0.0", prefix: 8 },
          { address: "2001:db8::", prefix: 32 },
          "unix",
        ],
      ],
    ],
    bad: [
      ['"127.0.0.1"', /must be a list in brackets/],
      ['["127.0.0.1", "localhost"]', /has an invalid item 2: write an address/],
      ["[127]", /has an invalid item 1/],
      ['["0.0.0.0/0"]', /trusts every client/],
    ],
  },
  proxy_header: {
    good: [['"forwarded"', "forwarded"]],
    bad: [
      ["5", /must be "x-forwarded-for" or "forwarded"/],
      ['"x-real-ip"', /must be "x-forwarded-for" or "forwarded"/],
    ],
  },
  jsonrpc_max_connections: bytes(1, 1_000_000),
  max_request_body_size: {
    good: bytes(65_536, GiB).good,
    bad: [...bytes(0, GiB).bad.filter(([toml]) => toml !== "-1"), ["65535", /: must be 65536 or more$/]],
  },
  max_response_body_size: bytes(1, GiB),
  client_memory_bytes: bytes(0, 100 * GiB),
  max_upload_size: bytes(0, 100 * GiB),
  enable_unix_socket: { good: [["true", true]], bad: notBoolean },
  unix_socket_path: path,
  unix_socket_group: { good: [['"www-data"', "www-data"]], bad: path.bad },
  tls_cert: path,
  tls_key: path,
  static_path: path,
  sync_uploads: { good: [["false", false]], bad: notBoolean },
  keep_removed_days: {
    good: [
      ["0", 0],
      ["3650", 3650],
    ],
    bad: [...notNumber, ["3651", /3650 or less/]],
  },
  keep_deploys: bytes(1, 1000),
  static_cache_bytes: bytes(0, 100 * GiB),
  node_name: {
    good: [['"node-1.example"', "node-1.example"]],
    bad: [
      ...notText,
      ...['""', '"-a"', '"a b"', '"a/b"', '"\\u001b[2J"', `"${"a".repeat(64)}"`].map(
        (name) => [name, /must be 1 to 63 letters, digits/] as const,
      ),
    ],
  },
  node_url: {
    good: [
      ['"https://node1.example.com:2211/"', "https://node1.example.com:2211"],
      ['"http://[fd00::1]:2211"', "http://[fd00::1]:2211"],
    ],
    bad: [
      ...notText,
      ...['""', '"node1:2211"', '"unix:/run/node.sock"'].map(
        (url) => [url, /: must begin with https:/] as const,
      ),
      ['"https://root:hunter2@node1"', /: must not contain a user, a password or options: [^:]*$/],
      ['"https://node1/?token=x"', /: must not contain a user/],
      ['"http://0.0.0.0:2211"', /: must name an address of this node/],
      ['"http://[::]:2211"', /: must name an address of this node/],
    ],
  },
  drain_seconds: {
    good: [
      ["0", 0],
      ["3600", 3600],
    ],
    bad: [...notNumber, ["3601", /3600 or less/]],
  },
  backup_dir: path,
  backup_every: {
    good: [
      ['"24h"', 86_400_000],
      ['"7d"', 604_800_000],
      ['"30m"', 1_800_000],
      ['"90s"', 90_000],
    ],
    bad: [
      ...notText,
      ['"0h"', /: must be longer than zero; remove the key/],
      ...['""', '"24"', '"1w"', '"-1h"', '"daily"'].map((text) => [text, /such as "24h" or "7d"/] as const),
    ],
  },
  backup_keep: bytes(1, 1_000_000),
  backup_files: { good: [["true", true]], bad: notBoolean },
  backup_before_migration: { good: [["false", false]], bad: notBoolean },
  console: { good: [["false", false]], bad: notBoolean },
  release_url: {
    good: [['"https://example.org/releases"', "https://example.org/releases"]],
    bad: [
      ...notText,
      ['"example.org"', /: must begin with https:\/\/ .*such as https:/],
      ['"ftp://example.org"', /: must begin with https:/],
      ['""', /: must begin with https:/],
    ],
  },
  release_public_key: {
    good: [[JSON.stringify(publicKey), publicKey]],
    bad: [...notText, ['"hello"', /: must be a minisign public key: RW/], ['""', /minisign public key/]],
  },
  "tls.auto": { good: [["true", true]], bad: notBoolean },
  "tls.email": {
    good: [['"admin@example.com"', "admin@example.com"]],
    bad: [...notText, ['"admin"', /: must be an e-mail address/], ['"a b@example.com"', /e-mail address/]],
  },
  "tls.server_name": {
    good: [['"Node.Example.com"', "node.example.com"]],
    bad: [
      ...notText,
      ...['""', '"https://node.example.com"', '"node.example.com:443"', '"192.0.2.1"', '"*.example.com"'].map(
        (name) => [name, /: must be a host name such as node.example.com/] as const,
      ),
    ],
  },
  "tls.directory": {
    good: [['"https://ca.example.com/acme/directory"', "https://ca.example.com/acme/directory"]],
    bad: [...notText, ['"http://ca.example.com/"', /: must begin with https:/], ['""', /: must begin with/]],
  },
  "tls.ca": path,
  "tls.eab_kid": { good: [['"kid-1"', "kid-1"]], bad: path.bad },
  "tls.eab_hmac_key": {
    good: [['"zWNDZM6eQGHWpSRTPal5"', "zWNDZM6eQGHWpSRTPal5"]],
    bad: [...notText, ['"a b"', /: must be the key in base64url/], ['""', /./]],
  },
  "tls.dns_hook": path,
  "tls.secret": {
    good: [[JSON.stringify("s".repeat(32)), "s".repeat(32)]],
    bad: [...notText, ['"short"', /: must have at least 32 characters/]],
  },
  "tls.hsts_days": {
    good: [
      ["0", 0],
      ["365", 365],
    ],
    bad: [...notNumber, ["3651", /3650 or less/]],
  },
  "logging.log_filter": filter,
  "logging.log_format": {
    good: [['"json"', "json"]],
    bad: [
      ["5", /must be "text" or "json"/],
      ['"pretty"', /must be "text" or "json"/],
    ],
  },
  "logging.json_log_file": path,
  "logging.json_log_filter": filter,
  "logging.memory_log_capacity": bytes(0, 100_000),
  "logging.memory_log_filter": filter,
  "logging.keep_audit_days": bytes(1, 3650),
  "logging.access_log": path,
  "logging.access_log_format": {
    good: [
      ['"json"', "json"],
      ['"vhost_combined"', "vhost_combined"],
    ],
    bad: [
      ["5", /must be "combined", "vhost_combined" or "json"/],
      ['"common"', /must be "combined", "vhost_combined" or "json"/],
    ],
  },
  "database.database_url": {
    good: [
      ['"sqlite://data/x.db?mode=rwc"', `sqlite://${resolve("data/x.db")}?mode=rwc`],
      ['"postgres://u:p@h:5432/n"', "postgres://u:p@h:5432/n"],
      ['"postgresql://h/n"', "postgresql://h/n"],
      ['"postgres://u:p%40%2F%23%3F@h/n"', "postgres://u:p%40%2F%23%3F@h/n"],
    ],
    bad: [
      ...notText,
      ['"mysql://h/n"', /must begin with/],
      ['"sqlite:"', /must name a file/],
      ['""', /begin/],
      ...ambiguousUrls.map((url) => [JSON.stringify(url), /percent-encode .* \(`@` as `%40`/] as const),
    ],
  },
  "database.timeout_ms": ms(1),
  "database.stale_seconds": {
    good: [
      ["0", 0],
      ["86400", 86_400],
    ],
    bad: [...notNumber, ["-1", /0 or more/]],
  },
  "database.max_connections": {
    good: [
      ["1", 1],
      ["10000", 10_000],
    ],
    bad: [...notNumber, ["0", /1 or more/], ["10001", /10000 or less/]],
  },
  "database.sql_timeout_ms": ms(0),
  "files.url": {
    good: [
      ['"file:///srv/blobs"', "file:///srv/blobs"],
      ['"file:///srv/my%20blobs/"', "file:///srv/my%20blobs/"],
    ],
    bad: [
      ...notText,
      ...['""', '"/srv/blobs"', '"disk"', '"https://s3.example.com/x"', '"gs://bucket"'].map(
        (url) => [url, /must be "file:\/\/\/absolute\/folder" or "s3:\/\/bucket\/prefix"/] as const,
      ),
      ['"file://srv/blobs"', /an absolute folder with three slashes/],
      ['"file:///srv/100%"', /write % as %25/],
      ['"s3://"', /must name a bucket/],
      ['"s3://my bucket"', /must name a bucket/],
      ['"s3://AKIA:hunter2@bucket/x"', /: must not contain keys or options; write [^:]*$/],
      ['"s3://bucket/a//b"', /must have a prefix of letters/],
      ['"s3://bucket/../b"', /must have a prefix of letters/],
      ['"s3://bucket/prefix"', /needs access_key_id and secret_access_key; .* or set AWS_ACCESS_KEY_ID/],
    ],
  },
  "files.endpoint": {
    good: [
      ['"http://127.0.0.1:8333"', "http://127.0.0.1:8333"],
      ['"https://s3.example.com/"', "https://s3.example.com"],
    ],
    bad: [
      ...notText,
      ['"s3.example.com"', /must begin with https/],
      ['"https://AKIA:hunter2@s3.example.com"', /: must not contain keys or options; write [^:]*$/],
    ],
  },
  "files.region": { good: [['"eu-central-1"', "eu-central-1"]], bad: path.bad },
  "files.access_key_id": { good: [['"AKIAX"', "AKIAX"]], bad: path.bad },
  "files.secret_access_key": { good: [['"s/e+c"', "s/e+c"]], bad: path.bad },
  "files.path_style": { good: [["false", false]], bad: notBoolean },
  "files.cache_path": path,
  "files.cache_bytes": bytes(0, 100 * GiB),
  "files.request_timeout_ms": {
    good: [
      ["1", 1],
      ["600000", 600_000],
    ],
    bad: [...notNumber, ["0", /1 or more/], ["600001", /600000 or less/]],
  },
  "s3.listener": {
    good: [['"127.0.0.1:2213"', { host: "127.0.0.1", port: 2213 }]],
    bad: [...notText, ['"127.0.0.1"', /an address and a port, such as/]],
  },
  "s3.host": {
    good: [['"S3.Example.com"', "s3.example.com"]],
    bad: [...notText, ['"https://s3.example.com"', /: must be a host name such as/]],
  },
  "s3.anonymous": { good: [["true", true]], bad: notBoolean },
};

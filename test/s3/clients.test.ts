import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { blockOf, sectionOf } from "../support/documented.ts";
import { clientStory, eachStore, type StoreOptions, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { formOf, s3Host, s3Site } from "../support/s3.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findProgram, openTool, type Ran, randomBytes } from "../support/tools.ts";

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
/** More than one part of every client that uploads in parts. */
const big = randomBytes(17_000_000);

/**
 * A folder with what the recipes of docs/s3.md read, and the story's bucket. `more` are pairs for the text of recipes beyond the addresses.
 */
async function openClient(options: StoreOptions, more: ReadonlyArray<readonly [string, string]> = []) {
  await using opening = new AsyncDisposableStack();
  const address = `127.0.0.1:${await freePort()}`;
  const env = { NODE_SERVER_S3_LISTENER: address, NODE_SERVER_S3_HOST: s3Host };
  const node = opening.use(await testNode({ ...options, env }));
  const { keys } = await s3Site(node);
  const shell = opening.use(await openTool("/bin/sh"));
  const place = (text: string) =>
    [
      ["https://s3.example.com", `http://${address}`] as const,
      ["s3.example.com", address] as const,
      ["my-bucket", node.bucket] as const,
      ...more,
    ].reduce((rest, [from, to]) => rest.replaceAll(from, to), text);
  const { home } = shell;
  await mkdir(join(home, "public/docs"), { recursive: true });
  await writeFile(join(home, "report.pdf"), "the report");
  await writeFile(join(home, "public/docs/ü + 1.txt"), "odd");
  await writeFile(join(home, "public/big"), big);
  const sh = (
    command: string,
    secret = keys.secret_access_key,
    more: { readonly env?: Record<string, string> } = {},
  ): Promise<Ran> =>
    shell.run(["-ec", place(command)], {
      env: {
        AWS_ACCESS_KEY_ID: keys.access_key_id,
        AWS_SECRET_ACCESS_KEY: secret,
        AWS_DEFAULT_REGION: "us-east-1",
        ...more.env,
      },
      patienceMs: 110_000,
    });
  const opened = opening.move();
  return {
    home,
    url: node.url,
    stored: storedFiles(node),
    /** Runs a command for which every name leads to this server, as a client that names the bucket in the host name. */
    async doesByName(command: string): Promise<string> {
      const proxy = { HTTP_PROXY: node.url, http_proxy: node.url };
      const { code, stdout, stderr } = await sh(command, undefined, { env: proxy });
      if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`);
      return stdout;
    },
    /** The block of a section of the page, with the addresses of this server. */
    recipe: (section: string, language = "sh") => place(blockOf(sectionOf("s3.md", section), language)),
    sh,
    /** Runs a command that must end well; what it prints. */
    async does(command: string): Promise<string> {
      const { code, stdout, stderr } = await sh(command);
      if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`);
      return stdout;
    },
    /** Runs a command with a secret that is wrong. It must be refused for that. */
    async refused(command: string) {
      const { code, stdout, stderr } = await sh(command, "wrong");
      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(/SignatureDoesNotMatch|no valid token|403|Forbidden|denied/i);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Client = Awaited<ReturnType<typeof openClient>>;

/** What a client has put below a folder is what it was given. */
async function expectPublic({ stored }: Client, folder: string) {
  expect(sha256(await stored.bytes(`${folder}/big`))).toBe(sha256(big));
  expect(await stored.text(`${folder}/docs/ü + 1.txt`)).toBe("odd");
}

/** eachClient declares a story of a program; it is left out where the program is missing. */
function eachClient(
  program: string,
  title: string,
  story: (options: StoreOptions) => Promise<void>,
  debian = program,
) {
  clientStory(
    `${program} ${title}`,
    async (options) => {
      if (findProgram(`docs/s3.md`, program, debian) !== undefined) await story(options);
    },
    120_000,
  );
}

eachClient(
  "aws",
  "copies, syncs, lists, presigns and deletes, in parts too, and makes buckets",
  async (options) => {
    await using client = await openClient(options);
    const { does, stored, refused } = client;
    const said = await does(client.recipe("aws"));
    expect(said).toContain("public/docs/ü + 1.txt");
    const presigned = said.trim().split("\n").at(-1) ?? "";
    expect(await (await fetch(presigned)).text()).toBe("the report");
    expect((await fetch(`${presigned}0`)).status).toBe(403);
    expect(await stored.text("reports/report.pdf")).toBe("the report");
    await expectPublic(client, "public");
    const s3 = "aws --endpoint-url https://s3.example.com s3";
    expect(await does(`${s3} sync public s3://my-bucket/public`)).toBe("");
    await does(`${s3} cp --no-progress s3://my-bucket/public/big copy && cmp copy public/big`);
    await does(`${s3} cp --no-progress s3://my-bucket/public/big s3://my-bucket/other/big`);
    expect(sha256(await stored.bytes("other/big"))).toBe(sha256(big));
    await does(`${s3} rm --recursive s3://my-bucket`);
    expect((await does(`${s3} ls --recursive s3://my-bucket || true`)).trim()).toBe("");
    await does(`${s3} mb s3://my-bucket-2 && ${s3} ls | grep my-bucket-2 && ${s3} rb s3://my-bucket-2`);
    await refused(`${s3} ls s3://my-bucket`);
  },
  "awscli",
);

eachClient("rclone", "syncs, checks, lists and deletes", async (options) => {
  await using client = await openClient(options);
  const { does } = client;
  await does(client.recipe("rclone"));
  await expectPublic(client, "public");
  await does("rclone check --download public node:my-bucket/public");
  expect((await does("rclone lsf -R node:my-bucket")).trim().split("\n").sort()).toEqual(
    ["public/", "public/big", "public/docs/", "public/docs/ü + 1.txt"].sort(),
  );
  expect((await client.sh("rclone copy -v public node:my-bucket/public")).stderr).toContain(
    "There was nothing to transfer",
  );
  await does("rclone moveto node:my-bucket/public/big node:my-bucket/moved");
  expect(sha256(await client.stored.bytes("moved"))).toBe(sha256(big));
  await does("rclone delete node:my-bucket");
  expect((await does("rclone lsf -R --files-only node:my-bucket")).trim()).toBe("");
  await client.refused("rclone --retries 1 --low-level-retries 1 lsf node:my-bucket");
});

eachClient("restic", "backs up, checks, restores and forgets", async (options) => {
  await using client = await openClient(options);
  const { home, does } = client;
  await writeFile(join(home, "restic-password"), "of the repository");
  await does(client.recipe("restic"));
  await does("diff -r public restored/public");
  const repository = "-r s3:https://s3.example.com/my-bucket/backup -p restic-password";
  await does(`echo more > public/more && restic ${repository} backup public`);
  await does(`restic ${repository} forget --keep-last 1 --prune && restic ${repository} check --read-data`);
  await client.refused(`restic ${repository} snapshots`);
});

eachClient("s3cmd", "puts, syncs, lists, gets and deletes, in parts too", async (options) => {
  const secrets = '--access_key="$AWS_ACCESS_KEY_ID" --secret_key="$AWS_SECRET_ACCESS_KEY"';
  await using client = await openClient(options, [["s3cmd --host", "s3cmd --no-ssl --host"]]);
  const { does, stored } = client;
  const said = await does(client.recipe("s3cmd"));
  expect(said).toContain("public/docs/ü + 1.txt");
  await does("cmp copy.pdf report.pdf");
  await expectPublic(client, "public");
  const s3cmd = `s3cmd --host=s3.example.com --host-bucket=s3.example.com ${secrets}`;
  await does(`${s3cmd} --multipart-chunk-size-mb=5 put public/big s3://my-bucket/parts`);
  expect(sha256(await stored.bytes("parts"))).toBe(sha256(big));
  await does(`${s3cmd} get s3://my-bucket/parts copy && cmp copy public/big`);
  await does(`${s3cmd} del --recursive --force s3://my-bucket`);
  expect((await does(`${s3cmd} ls --recursive s3://my-bucket`)).trim()).toBe("");
  await client.refused(`${s3cmd} ls s3://my-bucket`);
});

eachClient("s3fs", "mounts a bucket", async (options) => {
  const refused = (why: string) => void console.log(`note: s3fs cannot mount here: ${why}`);
  if (process.getuid?.() !== 0) return refused("only root may");
  if (!existsSync("/dev/fuse")) return refused("there is no /dev/fuse");
  await using client = await openClient(options);
  const { home, does, stored } = client;
  await mkdir(join(home, "drive"));
  const mounted = await client.sh(`${client.recipe("s3fs")}\ntimeout 10 mountpoint drive`);
  if (mounted.code !== 0) {
    const said = mounted.stdout + mounted.stderr;
    expect(said).toMatch(/not permitted|permission denied|fuse|not a mountpoint/i);
    return refused(said.trim().replaceAll("\n", " "));
  }
  try {
    await does("mkdir drive/docs && cp report.pdf drive/docs/ && cp public/big drive/big && sync");
    expect(await stored.text("docs/report.pdf")).toBe("the report");
    expect(sha256(await stored.bytes("big"))).toBe(sha256(big));
    await does("cmp drive/big public/big && mv drive/docs drive/moved && cat drive/moved/report.pdf");
    expect((await does("ls drive && rm -r drive/moved && ls drive")).split("\n")).toEqual([
      "big",
      "moved",
      "big",
      "",
    ]);
  } finally {
    await does("umount drive || umount -l drive");
  }
});

/** The Python that has boto3: the one of SeaweedFS, whose environment CI adds it to, or the one of the machine. */
async function findBoto3(client: Client): Promise<string | undefined> {
  const beside = Bun.which("weed");
  const found = [...(beside === null ? [] : [join(dirname(beside), "python3")]), "python3"];
  for (const python of found) if ((await client.sh(`${python} -c 'import boto3'`)).code === 0) return python;
  console.log("SKIPPED: docs/s3.md needs boto3 (pip install boto3, beside weed)");
  return undefined;
}

const moreOfBoto3 = `
from botocore.exceptions import ClientError

def code(call):
    try:
        call()
        return "done"
    except ClientError as error:
        return error.response["Error"]["Code"]

B = "my-bucket"
assert code(lambda: s3.put_object(Bucket=B, Key="lock", Body=b"other", IfNoneMatch="*")) == "PreconditionFailed"
tag = s3.head_object(Bucket=B, Key="lock")["ETag"]
made = s3.generate_presigned_post(B, "posted/\${filename}", Fields={"x-amz-meta-a": "1"}, Conditions=[{"x-amz-meta-a": "1"}, ["content-length-range", 1, 100]], ExpiresIn=60)
import json
print("posted " + json.dumps(made))
tag = s3.put_object(Bucket=B, Key="lock", Body=b"second", IfMatch=tag)["ETag"]
assert code(lambda: s3.put_object(Bucket=B, Key="lock", Body=b"third", IfMatch='"0"')) == "PreconditionFailed"
assert s3.get_object(Bucket=B, Key="lock")["Body"].read() == b"second"
for algorithm in ["CRC32", "SHA1", "SHA256"]:
    put = s3.put_object(Bucket=B, Key="sums/" + algorithm, Body=b"content", ChecksumAlgorithm=algorithm, Metadata={"a": "b c"})
    got = s3.get_object(Bucket=B, Key="sums/" + algorithm, ChecksumMode="ENABLED")
    assert got["Checksum" + algorithm] == put["Checksum" + algorithm], (put, got)
    assert got["Metadata"] == {"a": "b c"} and got["Body"].read() == b"content"
s3.upload_file("public/big", B, "big", Config=boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
s3.download_file(B, "big", "copy")
assert s3.get_object(Bucket=B, Key="big", Range="bytes=5-9")["Body"].read() == open("public/big", "rb").read()[5:10]
assert s3.get_object_attributes(Bucket=B, Key="big", ObjectAttributes=["ObjectSize"])["ObjectSize"] == 17000000
upload = s3.create_multipart_upload(Bucket=B, Key="aborted")["UploadId"]
s3.upload_part(Bucket=B, Key="aborted", UploadId=upload, PartNumber=2, Body=b"x")
assert [part["PartNumber"] for part in s3.list_parts(Bucket=B, Key="aborted", UploadId=upload)["Parts"]] == [2]
s3.abort_multipart_upload(Bucket=B, Key="aborted", UploadId=upload)
assert code(lambda: s3.get_object(Bucket=B, Key="aborted")) == "NoSuchKey"
for n in range(25):
    s3.put_object(Bucket=B, Key="many/%d" % n, Body=b"")
pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=B, Prefix="many/", PaginationConfig={"PageSize": 10}))
assert [len(page["Contents"]) for page in pages] == [10, 10, 5]
folders = s3.list_objects_v2(Bucket=B, Delimiter="/")
assert [prefix["Prefix"] for prefix in folders["CommonPrefixes"]] == ["many/", "reports/", "sums/"], folders
deleted = s3.delete_objects(Bucket=B, Delete={"Objects": [{"Key": "many/%d" % n} for n in range(25)]})
assert len(deleted["Deleted"]) == 25 and s3.list_objects_v2(Bucket=B, Prefix="many/")["KeyCount"] == 0
assert code(lambda: s3.get_bucket_policy(Bucket=B)) == "NotImplemented"
assert code(lambda: s3.put_object(Bucket=B, Key="a//b", Body=b"")) == "InvalidArgument"
assert code(lambda: s3.put_object(Bucket=B, Key="a/../b", Body=b"")) == "SignatureDoesNotMatch"
assert code(lambda: boto3.client("s3", endpoint_url="https://s3.example.com", aws_secret_access_key="wrong", aws_access_key_id="x", config=config).list_buckets()) != "done"
`;

eachStore(
  "boto3 puts with conditions and checksums, uploads in parts, lists pages and presigns",
  async (options) => {
    await using client = await openClient(options);
    const python = await findBoto3(client);
    if (python === undefined) return;
    await writeFile(join(client.home, "recipe.py"), client.recipe("Python", "python"));
    await client.does(`cat > more.py <<'END'\n${moreOfBoto3}\nEND\ncat recipe.py more.py > all.py`);
    const said = await client.does(`${python} all.py`);
    expect(said).toContain("reports/report.pdf 10");
    expect(readFileSync(join(client.home, "copy")).equals(big)).toBe(true);
    expect(sha256(await client.stored.bytes("big"))).toBe(sha256(big));
    const lines = said.trim().split("\n");
    const form = JSON.parse(lines.find((line) => line.startsWith("posted "))?.slice(7) ?? "{}") as {
      url: string;
      fields: Record<string, string>;
    };
    const posted = await fetch(form.url, {
      method: "POST",
      body: formOf(form.fields, new File(["a form"], "b.txt")),
    });
    expect([posted.status, await client.stored.text("posted/b.txt")]).toEqual([204, "a form"]);
    const presigned = lines.findLast((line) => line.startsWith("http")) ?? "";
    expect((await fetch(presigned, { method: "PUT", body: "a photo" })).status).toBe(200);
    expect(await client.stored.text("inbox/photo.jpg")).toBe("a photo");
    expect((await fetch(presigned, { method: "DELETE" })).status).toBe(403);
  },
  120_000,
);

const boto3ByName = `
import boto3
from botocore.config import Config

s3 = boto3.client("s3", endpoint_url="http://s3.test", config=Config(signature_version="s3v4", s3={"addressing_style": "virtual"}))
s3.upload_file("public/big", "site", "by name/big")
assert s3.head_object(Bucket="site", Key="by name/big")["ContentLength"] == 17000000
assert [one["Key"] for one in s3.list_objects_v2(Bucket="site", Prefix="by")["Contents"]] == ["by name/big"]
print(s3.generate_presigned_url("get_object", Params={"Bucket": "site", "Key": "by name/big"}))
`;

eachStore(
  "clients name the bucket in the host name",
  async (options) => {
    await using client = await openClient(options);
    const { home, doesByName, stored, url } = client;
    const has = (program: string, debian = program) =>
      findProgram("docs/s3.md", program, debian) !== undefined;
    const python = await findBoto3(client);
    if (python !== undefined) {
      await writeFile(join(home, "by-name.py"), boto3ByName);
      const presigned = new URL((await doesByName(`${python} by-name.py`)).trim());
      expect(presigned.host).toBe(`site.${s3Host}`);
      const { pathname, search, host } = presigned;
      const got = await fetch(url + pathname + search, { headers: { host } });
      expect(sha256(await got.bytes())).toBe(sha256(big));
    }
    if (has("aws", "awscli")) {
      await doesByName("aws configure set default.s3.addressing_style virtual");
      const s3 = `aws --endpoint-url http://${s3Host} s3`;
      await doesByName(`${s3} cp --no-progress public/big s3://site/aws/big && ${s3} ls s3://site/aws/`);
      await doesByName(`${s3} cp --no-progress s3://site/aws/big copy && cmp copy public/big`);
    }
    if (has("rclone")) {
      await doesByName(
        `rclone config create byname s3 provider=Other env_auth=true force_path_style=false endpoint=http://${s3Host}`,
      );
      await doesByName("rclone sync public byname:site/rclone && rclone check public byname:site/rclone");
      expect(await stored.text("rclone/docs/ü + 1.txt")).toBe("odd");
    }
    if (has("restic")) {
      const restic = `restic -o s3.bucket-lookup=dns -r s3:http://${s3Host}/site/restic -p password`;
      await doesByName(
        `echo secret > password && ${restic} init && ${restic} backup public && ${restic} check`,
      );
    }
  },
  120_000,
);

const moreOfSdk = `
import { readFileSync } from "node:fs";
import { DeleteObjectCommand, ListObjectsV2Command, HeadObjectCommand } from "@aws-sdk/client-s3";
const Bucket = "my-bucket";
const bytes = readFileSync("public/big");
await s3.send(new PutObjectCommand({ Bucket, Key: "big", Body: bytes, ChecksumAlgorithm: "CRC32C" }));
const got = await s3.send(new GetObjectCommand({ Bucket, Key: "big", ChecksumMode: "ENABLED" }));
if (!bytes.equals(Buffer.from(await got.Body.transformToByteArray()))) throw new Error("other bytes");
const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }));
console.log(Contents.map(({ Key }) => Key).join(" "));
await s3.send(new DeleteObjectCommand({ Bucket, Key: "big" }));
const failure = (promise) => promise.then(() => "done", ({ name }) => name);
console.log(await failure(s3.send(new HeadObjectCommand({ Bucket, Key: "big" }))));
const credentials = { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: "wrong" };
const stranger = new S3Client({ endpoint: "https://s3.example.com", region: "us-east-1", forcePathStyle: true, credentials });
console.log(await failure(stranger.send(new GetObjectCommand(file))));
`;

eachClient(
  "node",
  "and the AWS SDK for JavaScript put, get, list and delete",
  async (options) => {
    await using client = await openClient(options);
    await symlink(join(import.meta.dir, "../../node_modules"), join(client.home, "node_modules"));
    await writeFile(join(client.home, "recipe.mjs"), client.recipe("JavaScript", "js"));
    await client.does(`cat > more.mjs <<'END'\n${moreOfSdk}\nEND\ncat recipe.mjs more.mjs > all.mjs`);
    const said = await client.does("node all.mjs");
    expect(said.trim().split("\n")).toEqual([
      "the report",
      "big reports/report.pdf",
      "NotFound",
      "SignatureDoesNotMatch",
    ]);
  },
  "nodejs",
);

clientStory(
  "terraform keeps its state in a bucket and locks it",
  async (options) => {
    const terraform = Bun.which("terraform") ?? Bun.which("tofu");
    if (terraform === null) return void console.log("note: neither terraform nor tofu is installed");
    await using client = await openClient(options);
    const { home, does, stored } = client;
    const resource = 'resource "terraform_data" "one" {\n  input = "kept"\n}\n';
    await writeFile(join(home, "main.tf"), `${client.recipe("Terraform", "hcl")}${resource}`);
    await does(`${terraform} init -input=false`);
    await does(`${terraform} apply -input=false -auto-approve`);
    expect(await stored.text("terraform.tfstate")).toContain('"kept"');
    await does('echo \'{"ID":"other"}\' > lock');
    await stored.write({ "terraform.tfstate.tflock": '{"ID":"other","Operation":"a story","Who":"me"}' });
    const locked = await client.sh(`${terraform} apply -input=false -auto-approve`);
    expect([locked.code, locked.stderr]).toEqual([1, expect.stringContaining("PreconditionFailed")]);
  },
  120_000,
);

/** Backs up a database twice, loses it, and has it back with what was in its log alone. The first words run as a user other than root. */
const pgbackrest = `
cd "$AT"
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --init-groups "$@"; else "$@"; fi; }
sql() { as "$POSTGRES/psql" -h "$AT" -U postgres -Atqc "$1"; }
pg() { as "$POSTGRES/pg_ctl" -D "$AT/pg" -l "$AT/pg.log" -w "$@" > pg_ctl.log; }
backrest() { as pgbackrest --config="$AT/pgbackrest.conf" --stanza=main --log-level-console=warn "$@"; }
cat > pgbackrest.conf <<END
[global]
repo1-type=s3
repo1-path=/pg
repo1-s3-bucket=site
repo1-s3-endpoint=localhost
repo1-storage-port=$PORT
repo1-storage-ca-file=$AT/cert.pem
repo1-s3-region=us-east-1
repo1-s3-uri-style=path
repo1-s3-key=$AWS_ACCESS_KEY_ID
repo1-s3-key-secret=$AWS_SECRET_ACCESS_KEY
repo1-retention-full=1
repo1-bundle=y
start-fast=y
log-path=$AT
lock-path=$AT
spool-path=$AT
[main]
pg1-path=$AT/pg
pg1-socket-path=$AT
pg1-user=postgres
END
if [ "$(id -u)" = 0 ]; then chown -R postgres .; fi
as "$POSTGRES/initdb" -D pg -U postgres -A trust > initdb.log 2>&1
cat >> pg/postgresql.conf <<END
unix_socket_directories = '$AT'
listen_addresses = ''
fsync = off
archive_mode = on
archive_command = 'pgbackrest --config=$AT/pgbackrest.conf --stanza=main archive-push %p'
END
pg start
trap 'pg -m immediate stop || true' EXIT
sql "CREATE TABLE kept AS SELECT n, md5(n::text) AS text FROM generate_series(1, 20000) AS n"
backrest stanza-create
backrest check
backrest --type=full backup
sql "INSERT INTO kept VALUES (0, 'of the second backup')"
backrest --type=incr backup
sql "INSERT INTO kept VALUES (-1, 'of the log alone')"
pg -m fast stop
rm -rf pg/base pg/pg_wal/*
backrest --delta restore
pg start
until [ "$(sql 'SELECT pg_is_in_recovery()')" = f ]; do sleep 0.1; done
sql "SELECT count(*) || ' ' || min(n) FROM kept" > rows
backrest verify
pg -m fast stop
backrest stop
backrest stanza-delete --force
cat rows
`;

clientStory(
  "pgbackrest keeps a database of PostgreSQL and its log, and restores both",
  async (options) => {
    const found = [...new Bun.Glob("postgresql/*/bin/initdb").scanSync("/usr/lib")].sort().at(-1);
    // With all other programs of PostgreSQL beside it; what is in the PATH may be a link to it alone.
    const initdb = found === undefined ? Bun.which("initdb") : join("/usr/lib", found);
    if (Bun.which("pgbackrest") === null || initdb === null)
      return void console.log(
        "SKIPPED: a backup of PostgreSQL over S3 needs its programs (apt install pgbackrest postgresql)",
      );
    // Another user can read it.
    const at = await mkdtemp("/tmp/node-server-pgbackrest-");
    await using _ = { [Symbol.asyncDispose]: () => rm(at, { recursive: true, force: true }) };
    const certificate =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem";
    expect(await Bun.spawn(certificate.split(" "), { cwd: at, stderr: "ignore" }).exited).toBe(0);
    const port = await freePort();
    const env = { NODE_SERVER_S3_LISTENER: `127.0.0.1:${port}` };
    const top = `tls_cert = "${at}/cert.pem"\ntls_key = "${at}/key.pem"\n`;
    await using node = await testNode({ ...options, env, top });
    const { keys, bucket } = await s3Site(node);
    await using shell = await openTool("/bin/sh");
    const stdout = await shell.does(["-ec", pgbackrest], {
      env: {
        AT: at,
        PORT: String(port),
        POSTGRES: dirname(initdb),
        AWS_ACCESS_KEY_ID: keys.access_key_id,
        AWS_SECRET_ACCESS_KEY: keys.secret_access_key,
        ...(process.env.LD_LIBRARY_PATH && { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }),
      },
      patienceMs: 110_000,
    });
    expect(stdout.trim()).toBe("20002 -1");
    const left = await node.call("static-bucket-file_list", { token: node.superToken, name: bucket });
    expect(left).toEqual([]);
  },
  120_000,
);

import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { methods } from "../../src/methods/index.ts";
import { errorOf, loggedIn, User } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { until, within } from "../support/until.ts";

story("params are key=value by their declared types, or one JSON text", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const made = await user.does(["call", "static-bucket_create", "name=5", "cors=true"]);
  expect(JSON.parse(made)).toMatchObject({ name: "5", cors: true });
  const other = await user.does(["call", "static-bucket_create", '{"name": "b", "is_http_root": true}']);
  expect(JSON.parse(other)).toMatchObject({ name: "b", is_http_root: true });
  const sql = [
    "call",
    "node-server_exec_sql",
    "sql=SELECT ? + 1 AS n, ? AS t",
    'params=[9007199254740992, "x"]',
  ];
  expect(await user.does(sql)).toContain('"data":[{"n":9007199254740993,"t":"x"}]');
});

story("a value comes from a file with @, and from standard input with @-", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  await node.call("static-bucket_create", [node.superToken, "b"]);
  await writeFile(user.file("page.html"), "<h1>a=b</h1>\n");
  const upload = ["call", "static-bucket-file_upload", "name=b"];
  await user.does([...upload, "path=one.html", "body=@page.html"]);
  await user.does([...upload, "path=two.html", "body=@-"], { stdin: "from stdin" });
  const read = (path: string) => user.does(["call", "static-bucket-file_read", "name=b", `path=${path}`]);
  expect(atob(JSON.parse(await read("one.html")))).toBe("<h1>a=b</h1>\n");
  expect(atob(JSON.parse(await read("two.html")))).toBe("from stdin");
  expect(await user.run([...upload, "path=x", "body=@missing"])).toMatchObject({ code: 2, stdout: "" });
});

story("what is written wrongly ends with 2, names what was meant, and asks no server", async () => {
  await using user = await User.open();
  const env = { NODE_SERVER_URL: "http://127.0.0.1:1", NODE_SERVER_TOKEN: "a:b" };
  const wrong = [
    [["node-server_helo"], /did you mean node-server_hello/],
    [["bucket_list"], /static-bucket_list/],
    [["constructor"], /there is no method/],
    [["static-bucket_create", "nme=x"], /did you mean name/],
    [["static-bucket_create", '{"name": "a", "extra": 1}'], /no param extra/],
    [["static-bucket_create"], /needs name/],
    [["static-bucket_create", "name=a", "name=b"], /twice/],
    [["static-bucket_create", "s3cret"], /key=value/],
    [["static-bucket_create", "{"], /not JSON/],
    [["static-bucket_create", '["a"]'], /JSON object/],
    [["static-bucket_create", "name=a", "cors=maybe"], /cors must be true or false/],
    [["static-bucket_create", '{"name": 5}'], /name must be a string/],
    [["static-bucket-file_link", "name=a", "path=b", "expires_in=31622401"], /must be at most 31622400/],
    [["static-bucket-file_search", "name=a", "query=b", "limit=0.5"], /limit must be a whole number/],
    [["log_list", "limit=-1"], /limit must be at least /],
    [
      ["static-bucket-file_link", "name=a", "path=b", "password="],
      /password must have at least 1 character\n/,
    ],
    [["static-bucket_update", "name=a", "hosts=b"], /hosts must be an array/],
    [["token_delete", 'target_token=""', "x=1"], /no param x/],
    [
      ["token_create", 'token_creation={"token_limit": [{"scopes": 5, "permissions": []}]}'],
      /token_creation\.token_limit\.0\.scopes must be an array/,
    ],
    [[], /missing required argument/],
  ] as const;
  for (const [words, said] of wrong) {
    const { code, stdout, stderr } = await user.run(["call", ...words], { env });
    expect([words, code, stdout]).toEqual([words, 2, ""]);
    expect(stderr).toMatch(said);
    const [method = ""] = words;
    const about = /^(static-bucket|token_|log_)/.test(method) ? ` ${method}` : "";
    expect(stderr).toEndWith(`see \`node-server call${about} --help\`\n`);
    expect(stderr).not.toContain("s3cret");
  }
  expect(await user.run(["call", "node-server_hello"], { env })).toMatchObject({ code: 4, stdout: "" });
});

story("a refusal ends with 3 and another error with 1, in the server's words", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: await node.newToken([]) };
  const facts = await user.run(["call", "static-bucket_list", "--json"], { env });
  expect(errorOf(facts)).toMatchObject({ code: 102, reason: "missing_permission", super_token: true });
  const refused = await user.run(["call", "static-bucket_list"], { env });
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(refused.stderr).toContain("Super token required");
  const failed = await user.run(["call", "static-bucket_delete", "name=none"]);
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toBe("node-server: there is no bucket none\n");
});

story("every method tells about itself, with a curl line that works", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const list = await user.does(["call", "--help"]);
  for (const name of Object.keys(methods)) expect(list).toContain(`  ${name} `);
  const help = await user.does(["call", "node-server_exec_sql", "--help"]);
  expect(help).toContain(methods["node-server_exec_sql"].doc);
  expect(help).toContain("Needs: Node::ExecSql in scope global");
  expect(help).toMatch(/^ {2}sql +string$/m);
  expect(help).toMatch(/^ {2}params\? +any +an array of values/m);
  expect(help).not.toContain(node.superToken);
  const curl = /^ {2}(curl .*)$/m.exec(help)?.[1] ?? "";
  const run = Bun.spawn(["bash", "-c", curl], {
    env: { PATH: process.env.PATH, NODE_SERVER_TOKEN: node.superToken },
  });
  expect(await new Response(run.stdout).json()).toMatchObject({ result: { row_count: 1 } });
});

story("on a terminal a result is for reading, and its control characters do nothing", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  await node.call("static-bucket_create", [node.superToken, "b"]);
  const upload = { token: node.superToken, name: "b", path: "a\u009bred.txt", body: "x" };
  await node.call("static-bucket-file_upload", upload);
  const plain = { isTTY: true, env: { NO_COLOR: "1" } };
  const table = await user.does(["call", "static-bucket-file_list", "name=b"], plain);
  expect(table).toMatch(/path +\| size \| +mtime\n-+\+-+\+-+\na\\u\{9b\}red\.txt \| +1 \| \d+/);
  const record = await user.does(["call", "static-bucket_read", "name=b"], { isTTY: true });
  expect(record).toContain('\x1b[36m"name"\x1b[0m: "b"');
  expect(await user.does(["call", "static-bucket_list", "--json"], { isTTY: true })).toBe('["b"]\n');
});

story("a subscription writes one line of JSON an event until Ctrl+C", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const stream = user.launch(["call", "node-server_stream_log", "log_filter=server=info"]);
  await until("an event is heard", () => {
    node.node.hub.logger("server").info("heard?");
    return stream.stdout.includes("\n");
  });
  stream.signal("SIGINT");
  const { code, stdout, stderr } = await within("it ends", stream.exited);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const line of stdout.trimEnd().split("\n"))
    expect(JSON.parse(line)).toMatchObject({ target: "server", message: "heard?" });
});

import { expect } from "bun:test";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

interface Made {
  readonly key: string;
  readonly secret: string;
}

/** The same params by name and by position. */
const forms: ReadonlyArray<readonly [string, (params: Record<string, unknown>) => unknown]> = [
  ["named", (params) => params],
  ["positional", (params) => Object.values(params)],
];

/** A story about token methods, told with named and with positional params on both databases. */
function eachForm(
  title: string,
  story: (
    node: TestNode,
    call: (method: string, params: Record<string, unknown>) => Promise<unknown>,
  ) => Promise<void>,
  open = sharedNode,
): void {
  for (const [form, write] of forms) {
    eachDatabase(`${title} (${form})`, async (database) => {
      await using node = await open({ database });
      await story(node, (method, params) => node.call(method, write(params)));
    });
  }
}

const keyForm = /^[A-Za-z0-9]{16}$/;
const secretForm = /^[A-Za-z0-9]{32}$/;
const readSite = [
  {
    scopes: [{ static_bucket: "site" }],
    permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
  },
];

/** The members of a used token without a name that came after the first version. */
const labelAndTimes = { name: null, created_at: expect.any(Number), last_used_at: expect.any(Number) };

eachForm("token_create answers a key and a secret that work at once", async ({ superToken }, call) => {
  const made = (await call("token_create", {
    father_token: superToken,
    token_creation: { token_limit: readSite, timestamp_from: 5, timestamp_to: 32_503_680_000_000 },
  })) as Made;
  expect(made).toEqual({ key: expect.stringMatching(keyForm), secret: expect.stringMatching(secretForm) });
  expect(await call("token_get", { token: `${made.key}:${made.secret}` })).toEqual({
    version: 1,
    token_key: made.key,
    timestamp_from: 5,
    timestamp_to: 32_503_680_000_000,
    token_limit: readSite,
    username: null,
    created_by: null,
    ...labelAndTimes,
  });
});

eachForm("token_get shows the caller's own token, in both forms of credentials", async (node, call) => {
  const { superToken, rootPassword } = node;
  const anna = node.own("anna");
  const made = (await call("token_create", {
    father_token: superToken,
    token_creation: { token_limit: [], username: anna, password: "secret-word" },
  })) as Made;
  const own = {
    version: 1,
    token_key: made.key,
    timestamp_from: null,
    timestamp_to: null,
    token_limit: [],
    username: anna,
    created_by: null,
    ...labelAndTimes,
  };
  expect(await call("token_get", { token: `${made.key}:${made.secret}` })).toEqual(own);
  expect(await call("token_get", { token: `${anna}|secret-word` })).toEqual(own);
  const root = { ...own, token_key: superToken.split(":")[0], username: "root", super: true };
  expect(await call("token_get", { token: superToken })).toEqual(root);
  expect(await call("token_get", { token: `root|${rootPassword}` })).toEqual(root);
});

eachForm(
  "with a Super Token token_get shows any token, by key, by user name or by the whole token",
  async (node, call) => {
    const { superToken, rootPassword } = node;
    const anna = node.own("anna");
    const token = await node.newToken(readSite, { username: anna });
    const [key = ""] = token.split(":");
    const record = expect.objectContaining({ token_key: key, username: anna, token_limit: readSite });
    for (const name of [key, anna, token]) {
      expect(await call("token_get", { token: name, supertoken: superToken })).toEqual(record);
      expect(await call("token_get", { token: name, supertoken: `root|${rootPassword}` })).toEqual(record);
    }
    expect(await call("token_get", { token, supertoken: null })).toEqual(record);
  },
);

eachForm(
  "token_list_all_tokens shows every token by id, the Super Token first",
  async (node, call) => {
    const { superToken } = node;
    const names = ["zoe", "anna", "mia"];
    for (const username of names) await node.newToken(readSite, { username });
    const { tokens, ...rest } = (await call("token_list_all_tokens", { token: superToken })) as {
      tokens: Array<Record<string, unknown>>;
    };
    expect(rest).toEqual({});
    expect(tokens.map(({ username }) => username)).toEqual(["root", ...names]);
    expect(tokens[0]).toEqual({
      version: 1,
      token_key: superToken.split(":")[0],
      timestamp_from: null,
      timestamp_to: null,
      token_limit: [],
      username: "root",
      created_by: null,
      ...labelAndTimes,
      super: true,
    });
    expect(tokens.slice(1).some((token) => "super" in token)).toBe(false);
  },
  testNode,
);

eachForm(
  "token_edit replaces what a token may do, by key and by user name",
  async (node, call) => {
    const { superToken } = node;
    const token = await node.newToken([], { username: "anna", timestamp_to: 32_503_680_000_000 });
    const [key = ""] = token.split(":");
    const answer = { success: true, id: 2, token_key: key };
    expect(await call("token_edit", { token: superToken, target_token: key, limit: readSite })).toEqual(
      answer,
    );
    expect(await call("token_get", { token })).toMatchObject({
      token_limit: readSite,
      timestamp_to: 32_503_680_000_000,
    });
    expect(await call("token_edit", { token: superToken, target_token: "anna", limit: [] })).toEqual(answer);
    expect(await call("token_get", { token })).toMatchObject({ token_limit: [] });
  },
  testNode,
);

eachForm(
  "token_delete ends a token and says how it was found",
  async (node, call) => {
    const { superToken } = node;
    const byKey = await node.newToken([], { username: "anna" });
    await node.newToken([], { username: "mia" });
    const answer = { message: expect.stringMatching(/./), rows_affected: 1, created_tokens_left: 0 };
    expect(await call("token_delete", { token: superToken, target_token: byKey.split(":")[0] })).toEqual({
      ...answer,
      matched_by: "token_key",
    });
    expect(await call("token_delete", { token: superToken, target_token: "mia" })).toEqual({
      ...answer,
      matched_by: "username",
    });
    expect(await call("token_list_all_tokens", { token: superToken })).toMatchObject({
      tokens: [{ username: "root" }],
    });
    expect(await node.refused("token_get", { token: byKey })).toMatchObject({ code: 102 });
  },
  testNode,
);

eachForm(
  "token_change_password sets the password and leaves the secret",
  async (node, call) => {
    const { superToken } = node;
    const token = await node.newToken([], { username: "anna", password: "first-word" });
    const answer = { success: true, message: expect.stringMatching(/./) };
    expect(
      await call("token_change_password", {
        token: superToken,
        target_token: "anna",
        new_password: "second-word",
      }),
    ).toEqual(answer);
    expect(await call("token_get", { token: "anna|second-word" })).toMatchObject({ username: "anna" });
    expect(await node.refused("token_get", { token: "anna|first-word" })).toMatchObject({ code: 102 });
    expect(await call("token_get", { token })).toMatchObject({ username: "anna" });
    expect(
      await call("token_change_password", {
        token: superToken,
        target_token: "root",
        new_password: "root-word",
      }),
    ).toEqual(answer);
    expect(await call("token_list_all_tokens", { token: "root|root-word" })).toMatchObject({
      tokens: [{}, {}],
    });
  },
  testNode,
);

eachForm(
  "token_roll_token_secret gives a new secret for the same key and leaves the password",
  async (node, call) => {
    const { superToken } = node;
    const anna = node.own("anna");
    const token = await node.newToken(readSite, { username: anna, password: "first-word" });
    const [key = "", secret] = token.split(":");
    const rolled = (await call("token_roll_token_secret", {
      token: superToken,
      target_token: anna,
    })) as Made;
    expect(rolled).toEqual({ key, secret: expect.stringMatching(secretForm) });
    expect(rolled.secret).not.toBe(secret ?? "");
    expect(await call("token_get", { token: `${key}:${rolled.secret}` })).toMatchObject({
      token_limit: readSite,
    });
    expect(await node.refused("token_get", { token })).toMatchObject({ code: 102 });
    expect(await call("token_get", { token: `${anna}|first-word` })).toMatchObject({ token_key: key });
  },
);

eachDatabase(
  "the Super Token's own secret can be rolled: the old one ends, the new one is super",
  async (database) => {
    await using node = await testNode({ database });
    const { superToken } = node;
    const rolled = (await node.call("token_roll_token_secret", {
      token: superToken,
      target_token: "root",
    })) as Made;
    const refusal = await node.refused("token_list_all_tokens", { token: superToken });
    expect(refusal.data.reason).toBe("invalid_credentials");
    expect(
      await node.call("token_list_all_tokens", { token: `${rolled.key}:${rolled.secret}` }),
    ).toMatchObject({
      tokens: [{ username: "root" }],
    });
  },
);

eachDatabase("the Super Token can be neither edited nor deleted", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken: token } = node;
  for (const target_token of ["root", token.split(":")[0]]) {
    for (const method of ["token_edit", "token_delete"])
      expect(await node.refused(method, { token, target_token, limit: readSite })).toMatchObject({
        code: 102,
        data: { kind: "PermissionDenied", reason: "missing_permission", detail: expect.any(String) },
      });
  }
  expect(await node.call("token_get", { token })).toMatchObject({ username: "root", token_limit: [] });
});

eachDatabase("a target that does not exist is NotFound, and nothing changes", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken: token } = node;
  const before = await node.call("token_list_all_tokens", { token });
  for (const method of ["token_edit", "token_delete", "token_change_password", "token_roll_token_secret"])
    expect(
      await node.refused(method, { token, target_token: "nobody", limit: [], new_password: "a-new-word" }),
    ).toMatchObject({
      code: 105,
      data: { kind: "NotFound", field: "target_token", detail: expect.any(String) },
    });
  expect(await node.refused("token_get", { token: "nobody", supertoken: token })).toMatchObject({
    code: 105,
  });
  expect(await node.call("token_list_all_tokens", { token })).toEqual(before);
});

eachDatabase("params that are missing or of the wrong type are named", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken: token } = node;
  const wrong: ReadonlyArray<readonly [method: string, params: unknown, field: string]> = [
    ["token_create", {}, "father_token"],
    ["token_create", [token], "token_creation"],
    ["token_create", [token, {}], "token_creation.token_limit"],
    ["token_create", [token, { token_limit: [{ scopes: [] }] }], "token_creation.token_limit.0.permissions"],
    ["token_create", [token, { token_limit: [], timestamp_to: "soon" }], "token_creation.timestamp_to"],
    ["token_create", [token, { token_limit: [], timestamp_from: -1 }], "token_creation.timestamp_from"],
    ["token_create", [token, { token_limit: [], timestamp_to: 1.5 }], "token_creation.timestamp_to"],
    [
      "token_create",
      [token, { token_limit: [], username: "anna", password: "short" }],
      "token_creation.password",
    ],
    ["token_get", [], "token"],
    ["token_get", [token, 5], "supertoken"],
    ["token_list_all_tokens", [5], "token"],
    ["token_edit", { token, target_token: "anna" }, "limit"],
    ["token_edit", { token, target_token: "", limit: [] }, "target_token"],
    ["token_delete", { token }, "target_token"],
    ["token_change_password", { token, target_token: "anna", new_password: "12345" }, "new_password"],
    ["token_roll_token_secret", { token, target_token: ["anna"] }, "target_token"],
  ];
  for (const [method, params, field] of wrong) {
    const error = await node.refused(method, params);
    expect({ method, code: error.code, data: error.data }).toEqual({
      method,
      code: -32602,
      data: { kind: "InvalidParams", field, detail: expect.any(String) },
    });
  }
});

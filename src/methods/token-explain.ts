import { z } from "zod";
import { loggedName } from "../auth/credentials.ts";
import { permissionJson, scopeJson, toGrant, toScope } from "../auth/limit.ts";
import { anyToken, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { method } from "./declare.ts";
import { target } from "./token.ts";

export const tokenExplain = {
  token_explain: method({
    doc: "Returns whether a token holds a permission in a scope, and which of its limits grants it. It explains the caller's own token, or with `target_token` any token.",
    need: ({ target_token }) => (target_token == null ? anyToken : superToken),
    effect: "reads",
    params: {
      permission: permissionJson,
      scope: scopeJson,
      target_token: target.nullish(),
    },
    logged: { target_token: (name) => (name == null ? name : loggedName(name)) },
    result: z.object({
      token_key: z.string(),
      allowed: z.boolean(),
      reason: z.enum(["super_token", "granted", "not_granted", "expired", "not_yet_valid"]),
      limit: z
        .int()
        .nullable()
        .describe(
          "the first limit that grants it, counted from 0 in `token_limit`; also set for a token that is not valid now",
        ),
      elsewhere: z
        .array(z.int())
        .describe("if no limit grants it: the limits that grant the permission in other scopes"),
    }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: {
        token: "<SUPER_TOKEN>",
        permission: { static_bucket_file: "write" },
        scope: { static_bucket: "site" },
        target_token: "alice",
      },
      result: {
        token_key: "c3vRzqVb0Ytn1cUa",
        allowed: false,
        reason: "not_granted",
        limit: null,
        elsewhere: [],
      },
    },
    run: ({ tokens, caller }, { permission, scope, target_token }) => {
      const [grant] = toGrant(permission);
      const [wanted] = toScope(scope);
      if (grant === undefined || wanted === undefined)
        throw new Fault("InvalidInput", "in the name of a bucket or db one `*` may stand at the end", {
          field: "scope",
        });
      const whose = target_token == null ? { key: caller.key } : { target: target_token };
      return tokens.explain(whose, { grant, scope: wanted });
    },
  }),
};

import { z } from "zod";
import { loggedName } from "../auth/credentials.ts";
import { anyToken, superToken } from "../auth/need.ts";
import { labelProblem } from "../auth/tokens.ts";
import { Fault } from "../base/fault.ts";
import type { CallContext } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { method } from "./declare.ts";
import { password, target } from "./token.ts";

const unixMs = z.int().nonnegative();
const id = z.string().regex(/^[A-Za-z0-9]{16}$/, "must be the id of a session, as session_list shows it");

const newSession = {
  session: z.string().describe("`~<id>:<secret>`, which stands where a token stands"),
  expires: unixMs,
};

const ownPassword = z.string().max(1024).meta({ writeOnly: true });
const code = z
  .string()
  .min(1)
  .max(64)
  .meta({ writeOnly: true })
  .describe("a code of the authenticator app, or a recovery code");

/** `session` has the methods of people who sign in with a user name and a password. */
export const session = {
  session_create: method({
    doc: "Begins a session: credentials for a day, or with `persistent` for 30 days, that may do what the token may do. Call it with `<username>|<password>`. The console does so, and keeps the session in place of the password. A session ends with its token and with the password, and when `session_end` ends it.",
    need: anyToken,
    effect: "changes",
    params: {
      persistent: z.boolean().nullish().describe("true: 30 days"),
      device: z
        .string()
        .min(1)
        .max(100)
        .superRefine((text, context) => {
          const problem = labelProblem(text);
          if (problem !== undefined) context.addIssue(problem);
        })
        .nullish()
        .describe("what `session_list` shows to the person, such as `Firefox on Linux`"),
      code: code.nullish().describe("needed if the person has turned that on (`session_totp_begin`)"),
    },
    result: z.object(newSession),
    secretResult: true,
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: { token: "alice|incorrect horse", persistent: true, device: "Firefox · Linux" },
      result: { session: "~Yk3vRzqVb0Ytn1cU:R6Qm2sdbZ7mVbWcVgXo3kqTz1uJ8yLhN", expires: 1797299501291 },
    },
    run: async (call, { persistent, device, code }) => {
      const { sessions, caller, address, audit } = call;
      await proveCode(call, code);
      const made = await sessions.begin(caller, {
        persistent: persistent === true,
        device: device ?? null,
        address,
      });
      audit("session.begun", device == null ? {} : { device });
      return made;
    },
  }),
  session_list: method({
    doc: "Lists the sessions of the caller's own token, the one that was used last first. `last_used_at` and `address` are precise to five minutes.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.array(
      z
        .object({
          id: z.string(),
          device: z.string().nullable(),
          address: z.string().describe("the address that used it last"),
          created_at: unixMs,
          last_used_at: unixMs,
          expires: unixMs,
          current: z.boolean().describe("true for the session that makes this call"),
        })
        .meta({ id: "SessionRecord" }),
    ),
    example: { params: { token: "<SUPER_TOKEN>" }, result: [] },
    run: ({ sessions, caller }) => sessions.list(caller),
  }),
  session_end: method({
    doc: "Ends the session `id` of the caller's own token, or without `id` all but the one that makes the call. Returns how many were ended. They are refused at once, on every node; streams end within a second.",
    need: anyToken,
    effect: "changes",
    params: { id: id.nullish() },
    logged: ["id"],
    result: z.int(),
    example: { params: { token: "<SUPER_TOKEN>" }, result: 0 },
    run: async ({ sessions, caller, audit }, { id }) => {
      const ended = await sessions.end(caller, id ?? undefined);
      audit("session.ended", { target_key: caller.key, count: ended });
      return ended;
    },
  }),
  session_change_password: method({
    doc: "Changes the password of the caller's own token, which must have one; `old_password` proves that it is the person. All sessions of the token end. A caller with a session gets another one in its place.",
    need: anyToken,
    effect: "changes",
    warning: "The old password is invalid at once, and you are signed out elsewhere.",
    params: {
      old_password: ownPassword,
      new_password: password,
      code: code.nullish().describe("needed if the person signs in with one"),
    },
    result: z.object({ success: z.literal(true), session: newSession.session.optional() }),
    secretResult: true,
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: {
        token: "alice|incorrect horse",
        old_password: "incorrect horse",
        new_password: "correct horse",
      },
      result: { success: true },
    },
    run: async (call, { old_password, new_password, code }) => {
      const { tokens, sessions, caller, audit } = call;
      const proven = await call.provePassword(old_password);
      await proveCode(call, code);
      const passwordHash = await tokens.changeOwnPassword(caller.key, { from: proven, to: new_password });
      const renewed = await sessions.renew(caller, passwordHash);
      audit("token.password_changed", { target_key: caller.key });
      return { success: true as const, ...(renewed === undefined ? {} : { session: renewed.session }) };
    },
  }),
  session_reset: method({
    doc: "Lets a person in again who has lost the authenticator app: ends all sessions of a token, and asks for no codes any more until the person turns that on again. The password stays.",
    need: superToken,
    effect: "changes",
    warning: "The person is signed out everywhere in the console.",
    params: { target_token: target },
    logged: { target_token: loggedName },
    result: z.object({ token_key: z.string(), sessions_ended: z.int(), totp_removed: z.boolean() }),
    fails: ["NotFound", "InvalidInput"],
    example: {
      params: { token: "<SUPER_TOKEN>", target_token: "alice" },
      result: { token_key: "c3vRzqVb0Ytn1cUa", sessions_ended: 0, totp_removed: false },
    },
    run: async ({ tokens, sessions, secondFactors, audit }, { target_token }) => {
      const { token_key } = await tokens.get(target_token);
      const totp_removed = await secondFactors.remove(token_key);
      if (totp_removed) audit("second_factor.turned_off", { target_key: token_key });
      const sessions_ended = await sessions.endAll(token_key);
      audit("session.ended", { target_key: token_key, count: sessions_ended });
      return { token_key, sessions_ended, totp_removed };
    },
  }),
  session_totp: method({
    doc: "Returns whether a code of an authenticator app is asked for when the person of the caller's own token signs in, and how many recovery codes are left.",
    need: anyToken,
    effect: "reads",
    params: {},
    result: z.object({ on: z.boolean(), recovery_codes: z.int() }),
    example: { params: { token: "<SUPER_TOKEN>" }, result: { on: false, recovery_codes: 0 } },
    run: async ({ secondFactors, caller }) => {
      const { isOn, recoveryCodes } = await secondFactors.state(caller.key);
      return { on: isOn, recovery_codes: recoveryCodes };
    },
  }),
  session_totp_begin: method({
    doc: "Makes the secret with which an authenticator app makes codes (TOTP, RFC 6238: SHA-1, six digits, 30 seconds). It counts once `session_totp_confirm` has got a code.",
    need: anyToken,
    effect: "changes",
    params: { password: ownPassword },
    result: z.object({
      secret: z.string().describe("in base32"),
      uri: z.string().describe("the same for apps, `otpauth://totp/…`"),
    }),
    secretResult: true,
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: { token: "alice|incorrect horse", password: "incorrect horse" },
      result: {
        secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
        uri: "otpauth://totp/node-server%3Aalice?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=node-server",
      },
    },
    run: async ({ secondFactors, links, caller, provePassword }, { password }) => {
      await provePassword(password);
      await links.claimKey();
      return secondFactors.begin(caller.key, caller.username ?? "");
    },
  }),
  session_totp_confirm: method({
    doc: "Turns codes on: from now on `session_create` asks for one. The recovery codes are shown once; each signs in once in place of a code. All other sessions of the token end.",
    need: anyToken,
    effect: "changes",
    params: { code },
    result: z.object({ recovery_codes: z.array(z.string()) }),
    secretResult: true,
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: { token: "alice|incorrect horse", code: "<CODE>" },
      result: { recovery_codes: ["q7d2m4xk9a0c5t8w"] },
    },
    run: async ({ sessions, secondFactors, caller, audit }, { code }) => {
      const recovery_codes = await secondFactors.confirm(caller.key, code);
      if (recovery_codes === undefined)
        throw new Fault("InvalidInput", "the code is wrong; compare the clocks of the app and the server", {
          field: "code",
        });
      await sessions.end(caller, undefined);
      audit("second_factor.turned_on", { target_key: caller.key });
      return { recovery_codes };
    },
  }),
  session_totp_remove: method({
    doc: "Turns codes off for the caller's own token, with the password and a code or a recovery code.",
    need: anyToken,
    effect: "changes",
    warning: "The password alone signs in again.",
    params: { password: ownPassword, code },
    result: z.object({ success: z.literal(true) }),
    fails: ["InvalidInput", "IoError", "Other"],
    example: {
      params: { token: "alice|incorrect horse", password: "incorrect horse", code: "<CODE>" },
      result: { success: true },
    },
    run: async (call, { password, code }) => {
      const { secondFactors, caller, audit } = call;
      await call.provePassword(password);
      await proveCode(call, code);
      await secondFactors.remove(caller.key);
      audit("second_factor.turned_off", { target_key: caller.key });
      return { success: true as const };
    },
  }),
};

/** Checks a code. On a node with another link key every code of an app would be wrong, so that is said first. */
async function proveCode(
  { links, proveCode }: Pick<Services, "links"> & Pick<CallContext, "proveCode">,
  code: string | null | undefined,
): Promise<void> {
  if (code != null && /^[\d\s]*$/.test(code)) await links.claimKey();
  await proveCode(code);
}

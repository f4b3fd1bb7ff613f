import { z } from "zod";
import { globally, superToken } from "../auth/need.ts";
import { method } from "./declare.ts";

const certificate = z
  .object({
    name: z.string(),
    state: z.enum(["waiting", "issuing", "issued", "failed"]),
    issuer: z.string().nullable(),
    from: z.int().nullable(),
    until: z.int().nullable(),
    renew_at: z.int().nullable(),
    problem: z
      .object({
        reason: z.string(),
        detail: z.string(),
        advice: z.string(),
        at: z.int(),
        retry_at: z.int(),
      })
      .nullable(),
  })
  .meta({ id: "Certificate" });

const example = {
  name: "shop.example.com",
  state: "issued" as const,
  issuer: "Let's Encrypt",
  from: 1_794_000_000_000,
  until: 1_801_776_000_000,
  renew_at: 1_799_184_000_000,
  problem: null,
};

/** `nodeCertificates` are the methods about the certificates that the server orders by itself. */
export const nodeCertificates = {
  "node-server_certificates": method({
    doc: "Lists the names for which the server orders certificates (`auto` in `[tls]`), sorted: `server_name`, the host of `[s3]` (with `dns_hook` also `*.` before it), and the host names of all enabled buckets. `state` is `waiting` before the first attempt, `issuing` while one is under way, `issued` once clients are shown it, or `failed` without a valid certificate. `problem` is why the last attempt failed, also while an older certificate is in force: `reason` is a code, `advice` says what to do, and the server tries again at `retry_at`. Times are in Unix milliseconds. Without `auto`, the list is empty.",
    need: globally("node.metrics"),
    effect: "reads",
    params: {},
    result: z.array(certificate).readonly(),
    fails: ["DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>" }, result: [example] },
    run: ({ certificates }) => certificates.list(),
  }),
  "node-server_renew_certificate": method({
    doc: "Orders a new certificate for one of the names of `node-server_certificates` now, without waiting for its time, and returns its state before that. The certificate in force stays until the new one is there. The server orders at most 4 certificates an hour for a name, so that the certificate authority does not block it; after that it refuses with the reason `limited_here`, and nothing changes.",
    need: superToken,
    effect: "changes",
    params: { name: z.string().toLowerCase().describe("a host name") },
    logged: ["name"],
    result: certificate,
    fails: ["InvalidInput", "NotFound", "DatabaseError"],
    example: { params: { token: "<SUPER_TOKEN>", name: "shop.example.com" }, result: example },
    run: async ({ certificates, audit }, { name }) => {
      const before = await certificates.renew(name);
      audit("certificate.requested", { name });
      return before;
    },
  }),
};

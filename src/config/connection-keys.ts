import { z } from "zod";
import { type IpNetwork, parseIpNetwork } from "../base/address.ts";
import { key } from "./key.ts";

/** `proxies` reads a list of networks. A network of all addresses is refused: every client could claim any address. */
const proxies = z
  .array(z.unknown(), 'must be a list in brackets, such as ["127.0.0.1", "10.0.0.0/8"]')
  .transform(
    (items, context): ReadonlyArray<IpNetwork | "unix"> =>
      items.map((item, at) => {
        if (item === "unix") return item;
        const network = typeof item === "string" ? parseIpNetwork(item) : undefined;
        if (network !== undefined && network.prefix > 0) return network;
        context.addIssue(
          network === undefined
            ? `has an invalid item ${at + 1}: write an address such as "127.0.0.1", a network such as "10.0.0.0/8" or "2001:db8::/32", or "unix"`
            : `has an item ${at + 1} that trusts every client to name its own address; list the proxies alone`,
        );
        return z.NEVER;
      }),
  );

/** `proxyKeys` say whose word about a client's address is taken. */
export const proxyKeys = {
  trusted_proxies: key(
    "list",
    proxies.default([]),
    'Reverse proxies that are trusted to name the client\'s address: addresses or networks, and `"unix"` for clients of the Unix socket. Without them the address is that of the connection.',
  ),
  proxy_header: key(
    "text",
    z
      .enum(["x-forwarded-for", "forwarded"], 'must be "x-forwarded-for" or "forwarded"')
      .default("x-forwarded-for"),
    "The header in which the trusted proxies name the client: `x-forwarded-for` or `forwarded` (RFC 7239). No other is read, because it may come from the client.",
  ),
};

/** `listenerKeys` say how the address of HTTP is bound. */
export const listenerKeys = {
  reuse_port: key(
    "boolean",
    z.boolean().default(false),
    "Let other processes listen at the same address (SO_REUSEPORT): all of them must ask for it and, on Linux, run as the same user. Linux then divides new connections among them. For several nodes of one machine that share a database and a store; `serve --processes` sets it by itself.",
  ),
};

const octalMode = 'must be an octal mode in quotes, such as "0660"';

/** `socketAccessKeys` say who may connect to the Unix socket. */
export const socketAccessKeys = {
  unix_socket_mode: key(
    "text",
    z
      .string(octalMode)
      .regex(/^0?[0-7]{3}$/, octalMode)
      .default("0600"),
    'Who may connect to that socket: an octal mode, such as "0660" for its user and its group.',
  ),
  unix_socket_group: key(
    "text",
    z.string().min(1).optional(),
    "The group of that socket, by name or number; default: that of the server's process. The server's user must be a member of it.",
    { example: "www-data" },
  ),
};

import { Unreachable, type UnreachableReason } from "./errors.ts";

/** The codes of Node, Bun and OpenSSL for why a request failed. */
const reasons: Readonly<Record<string, UnreachableReason>> = {
  ECONNREFUSED: "refused",
  ConnectionRefused: "refused",
  ENOTFOUND: "unknown_host",
  EAI_AGAIN: "unknown_host",
  ECONNRESET: "closed",
  EPIPE: "closed",
  ConnectionClosed: "closed",
  UND_ERR_SOCKET: "closed",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  EPROTO: "not_https",
  ERR_SSL_WRONG_VERSION_NUMBER: "not_https",
  CERT_HAS_EXPIRED: "certificate_expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate_name",
  HOSTNAME_MISMATCH: "certificate_name",
};
const certificateCode = /CERT|^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECODE))/;

const texts: Readonly<Record<UnreachableReason, string>> = {
  refused: "nothing listens there",
  unknown_host: "no such host is known",
  closed: "the connection was closed before an answer came",
  timeout: "no answer came in time",
  certificate: "its certificate is not trusted",
  certificate_expired: "its certificate has expired",
  not_https: "it does not speak https",
  certificate_name: "its certificate is for other names",
};

/** Turns an error of `fetch` into one of this client, with the same message on every runtime. */
export function toUnreachable(url: string, error: unknown): Unreachable {
  const origin = originOf(error);
  const code = codeOf(origin) ?? codeOf(error);
  const reason = code === undefined ? undefined : reasonOf(code);
  const own = messageOf(origin) || messageOf(error);
  const text = reason === undefined ? own : texts[reason];
  // The system's message says what is wrong with a certificate: self-signed, expired.
  const detail = reason === "certificate" && own !== "" ? ` (${own})` : "";
  return new Unreachable(`${url} cannot be reached: ${text}${detail}`, { cause: error, reason });
}

function reasonOf(code: string): UnreachableReason | undefined {
  return reasons[code] ?? (certificateCode.test(code) ? "certificate" : undefined);
}

/** The error behind one of `fetch`: Node puts it into the cause, and where several addresses were tried (IPv6, IPv4), below that. */
function originOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return error;
  return cause instanceof AggregateError ? (cause.errors[0] ?? cause) : cause;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

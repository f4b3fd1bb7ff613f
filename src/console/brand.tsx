import { signal } from "@preact/signals";
import { NodeServerClient } from "../client/index.ts";
import { consoleFetch, serverUrl } from "./connection.ts";

/** Name of the server, as the person knows it: the host in the address. It tells two servers apart. */
export const serverName = location.hostname;

/** Version of the server; empty until it has told it. */
export const version = signal("");

/** Mark, name and version of the server. The version is left out until the server has told it. */
export function Brand() {
  return (
    <>
      <span class="brand-mark" aria-hidden="true" />
      <span class="brand-name">
        <strong title={location.host}>{serverName}</strong>
        <small>node-server {version.value}</small>
      </span>
    </>
  );
}

/** Asks for the version, which needs no token. Without an answer the name is shown alone. */
export async function loadVersion(): Promise<void> {
  const { cargo_version } = await new NodeServerClient(serverUrl, { fetch: consoleFetch }).call(
    "node-server_version",
  );
  version.value = cargo_version;
}

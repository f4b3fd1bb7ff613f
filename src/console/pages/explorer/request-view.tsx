import { serverUrl } from "../../session.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Code } from "./code.tsx";
import type { MethodInfo } from "./openrpc.ts";
import { curlLine, shownRequest } from "./request.ts";

/** The request that the form makes, as JSON and as a line for a shell. */
export function RequestView({
  method: { name, params: declared, isStream },
  params,
}: {
  readonly method: MethodInfo;
  readonly params: Readonly<Record<string, unknown>>;
}) {
  const { line, variables } = curlLine(serverUrl, name, declared, params);
  return (
    <>
      <section class="form" aria-label="Request">
        <h3>Request</h3>
        <Code label="Request as JSON" text={JSON.stringify(shownRequest(name, declared, params), null, 2)} />
      </section>
      {!isStream && (
        <section class="form" aria-label="The same with curl">
          <h3>With curl</h3>
          {variables.map((variable) => (
            <p key={variable} class="muted">
              Before it, once: <code>export {variable}=…</code>
            </p>
          ))}
          <Code label="Line for a shell" text={line} />
          <div class="row">
            <CopyButton text={line} label="Copy the line" />
          </div>
        </section>
      )}
    </>
  );
}

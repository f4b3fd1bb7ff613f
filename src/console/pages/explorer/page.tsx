import { linkTo, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { MethodList } from "./method-list.tsx";
import { MethodView } from "./method-view.tsx";
import { type MethodInfo, readMethods } from "./openrpc.ts";

export default function ExplorerPage() {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    async (signal) => readMethods(await client.call("rpc.discover", {}, { signal })),
    [client],
  );
  return (
    <Page title="API">
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && <Explorer methods={value} />}
    </Page>
  );
}

function Explorer({ methods }: { readonly methods: readonly MethodInfo[] }) {
  const [wanted] = route.value.rest;
  const method = methods.find(({ name }) => name === wanted);
  return (
    <div class={wanted === undefined ? "explorer" : "explorer chosen"}>
      <MethodList methods={methods} current={method?.name} />
      <div class="explorer-main">
        {wanted !== undefined && (
          <p class="explorer-back">
            <a href={linkTo("api", [], { find: route.value.query.get("find") ?? "" })}>All methods</a>
          </p>
        )}
        {method !== undefined && <MethodView key={method.name} method={method} />}
        {method === undefined && wanted !== undefined && (
          <p>
            The server has no method <code>{wanted}</code>. Choose one of the list.
          </p>
        )}
        {wanted === undefined && (
          <p class="empty">Choose a method to see what it does, fill in its params and call it.</p>
        )}
      </div>
    </div>
  );
}

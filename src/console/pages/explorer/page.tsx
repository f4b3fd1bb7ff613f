import { linkTo, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Field, typed } from "../../ui/field.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { MethodView } from "./method-view.tsx";
import { cannotCall, findMethods, type MethodInfo, readMethods } from "./openrpc.ts";

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

/** Every method, by namespace; those that the token cannot call are marked. */
function MethodList({
  methods,
  current,
}: {
  readonly methods: readonly MethodInfo[];
  readonly current: string | undefined;
}) {
  const { rights } = useSession();
  const find = route.value.query.get("find") ?? "";
  const groups = [...findMethods(methods, find)];
  const count = groups.reduce((sum, [, group]) => sum + group.length, 0);
  return (
    <div class="explorer-list">
      <Field label="Find a method">
        <input type="search" value={find} onInput={(event: Event) => replaceQuery({ find: typed(event) })} />
      </Field>
      <p class="muted" role="status">
        {count === methods.length ? `${count} methods` : `${count} of ${methods.length} methods`}
      </p>
      <nav aria-label="Methods">
        {groups.map(([namespace, group]) => (
          <section key={namespace}>
            <h2>{namespace}</h2>
            <ul>
              {group.map(({ name, requirements, deprecated }) => (
                <li key={name}>
                  <a
                    href={linkTo("api", [name], { find })}
                    aria-label={name}
                    aria-current={name === current ? "page" : undefined}
                  >
                    {name.slice(namespace.length + 1)}
                  </a>
                  {cannotCall(requirements, rights) && <span class="badge warn">not with this token</span>}
                  {deprecated !== undefined && <span class="badge">old</span>}
                </li>
              ))}
            </ul>
          </section>
        ))}
        {count === 0 && <p class="empty">No method matches. Shorten or change the search.</p>}
      </nav>
    </div>
  );
}

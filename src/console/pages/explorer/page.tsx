import { ClientError, type NodeServerClient } from "../../../client/index.ts";
import { linkTo, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { useLoad, WhenLoaded } from "../../ui/call.tsx";
import { Field, typed } from "../../ui/form.tsx";
import { Page } from "../../ui/page.tsx";
import { rich } from "../../ui/rich.tsx";
import { MethodView } from "./method-view.tsx";
import { findMethods, type MethodInfo, readMethods } from "./model.ts";
import "./explorer.css";

export default function ExplorerPage() {
  const { client } = useSession();
  const list = useLoad((signal) => fetchMethods(client, signal), [client]);
  return (
    <Page title={t.frame.api}>
      <WhenLoaded of={list} rows={8}>
        {(methods) => <Explorer methods={methods} />}
      </WhenLoaded>
    </Page>
  );
}

/**
 * fetchMethods reads the declarations of all methods. The server compresses answers only for callers whose token it has checked, which
 * `rpc.discover` alone does not ask for.
 */
async function fetchMethods(client: NodeServerClient, signal: AbortSignal): Promise<readonly MethodInfo[]> {
  const [, document] = await client.batch([["token_get"], ["rpc.discover"]], { signal });
  if (document instanceof ClientError) throw document;
  return readMethods(document);
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
            <a href={linkTo("api", [], { find: route.value.query.get("find") ?? "" })}>{t.api.allMethods}</a>
          </p>
        )}
        {method !== undefined && <MethodView key={method.name} method={method} />}
        {method === undefined && wanted !== undefined && (
          <p>{rich(t.api.noMethod, { name: <code>{wanted}</code> })}</p>
        )}
        {wanted === undefined && <p class="empty">{t.api.choose}</p>}
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
      <Field label={t.api.find}>
        <input type="search" value={find} onInput={(event: Event) => replaceQuery({ find: typed(event) })} />
      </Field>
      <p class="muted" role="status">
        {count === methods.length ? t.api.countMethods(count) : t.api.foundOf(count, methods.length)}
      </p>
      <nav aria-label={t.api.methods}>
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
                  {!rights.meetsOneOf(requirements) && <span class="badge warn">{t.api.notWithToken}</span>}
                  {deprecated !== undefined && <span class="badge">{t.api.old}</span>}
                </li>
              ))}
            </ul>
          </section>
        ))}
        {count === 0 && <p class="empty">{t.api.noMatch}</p>}
      </nav>
    </div>
  );
}

import { linkTo, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Field, typed } from "../../ui/field.tsx";
import { surelyNot } from "./may.ts";
import { findMethods, type MethodInfo } from "./openrpc.ts";

/** Every method, by namespace; those that the token cannot call are marked. */
export function MethodList({
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
                  {surelyNot(requirements, rights) && <span class="badge warn">not with this token</span>}
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

import type { Scope } from "../../../client/index.ts";
import { IconButton } from "../../ui/button.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { type ScopeKind, scopeKinds, scopeView, toScope } from "./scopes.ts";

export interface ScopeRowProps {
  readonly scope: Scope;
  readonly onChange: (scope: Scope) => void;
  readonly onRemove: () => void;
  /** Of a list with names to choose from. */
  readonly bucketList: string;
}

/** One place where the permissions of a limit hold. */
export function ScopeRow({ scope, onChange, onRemove, bucketList }: ScopeRowProps) {
  const { kind, name } = scopeView(scope) ?? { kind: "global" as const, name: "" };
  const { name: nameLabel, hint } = scopeKinds[kind];
  return (
    <div class="tokens-scope">
      <Field label="Scope">
        <select
          value={kind}
          onChange={(event: Event) => onChange(toScope({ kind: typed(event) as ScopeKind, name }))}
        >
          {Object.entries(scopeKinds).map(([value, { title }]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      {kind !== "global" && (
        <Field label={nameLabel} hint={hint}>
          <input
            type="text"
            list={kind === "static_bucket" ? bucketList : undefined}
            spellcheck={false}
            autocapitalize="off"
            value={name}
            onInput={(event: Event) => onChange(toScope({ kind, name: typed(event) }))}
          />
        </Field>
      )}
      <IconButton icon="close" label="Remove this scope" onClick={onRemove} />
    </div>
  );
}

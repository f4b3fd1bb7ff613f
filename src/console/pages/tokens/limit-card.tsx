import type { Limit, Permission, Scope } from "../../../client/index.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { JsonField } from "./json-field.tsx";
import { grantsNothing, type ScopeKind, scopeKinds, scopeView, toScope } from "./limits.ts";
import { families, isKnown, isPermission, isSame } from "./permissions.ts";

export interface LimitCardProps {
  readonly number: number;
  readonly limit: Limit;
  readonly onChange: (limit: Limit) => void;
  readonly onRemove: () => void;
  readonly onProblem: (isWrong: boolean) => void;
  readonly bucketList: string;
}

/** One limit of a token: scopes and permissions. */
export function LimitCard({ number, limit, onChange, onRemove, onProblem, bucketList }: LimitCardProps) {
  const { scopes, permissions } = limit;
  const others = permissions.filter((one) => !isKnown(one));
  const known = permissions.filter(isKnown);
  const toggle = (permission: Permission, on: boolean) =>
    onChange({
      ...limit,
      permissions: on ? [...permissions, permission] : permissions.filter((one) => !isSame(one, permission)),
    });
  return (
    <fieldset class="tokens-limit">
      <legend>Limit {number}</legend>
      {scopes.map((scope, at) => (
        <ScopeRow
          // A scope has no identity but its position.
          key={`${at} of ${scopes.length}`}
          scope={scope}
          bucketList={bucketList}
          onChange={(next) => onChange({ ...limit, scopes: scopes.with(at, next) })}
          onRemove={() => onChange({ ...limit, scopes: scopes.toSpliced(at, 1) })}
        />
      ))}
      <div class="row">
        <Button
          icon="plus"
          onClick={() => onChange({ ...limit, scopes: [...scopes, { static_bucket: "" }] })}
        >
          Add a scope
        </Button>
      </div>
      <div class="tokens-families">
        {families.map(({ name, title, actions }) => (
          <fieldset key={name}>
            <legend>{title}</legend>
            {actions.map(({ permission, label }) => (
              <Check
                key={label}
                label={label}
                checked={permissions.some((one) => isSame(one, permission))}
                onChange={(on) => toggle(permission, on)}
              />
            ))}
          </fieldset>
        ))}
      </div>
      <details open={others.length > 0}>
        <summary>OtherFamily permissions</summary>
        <JsonField
          label="As a JSON list"
          hint={'For the wider system, such as {"kv": "read"} or {"task": {"run": "nightly-*"}}.'}
          value={others}
          read={readOthers}
          onChange={(next) => onChange({ ...limit, permissions: [...known, ...next] })}
          onProblem={onProblem}
        />
      </details>
      {grantsNothing(limit) && (
        <p class="hint">
          This limit grants nothing yet: {scopes.length === 0 ? "it has no scope" : "no permission is chosen"}
          .
        </p>
      )}
      <div class="row">
        <Button icon="trash" kind="quiet" onClick={onRemove}>
          Remove limit {number}
        </Button>
      </div>
    </fieldset>
  );
}

function readOthers(json: unknown): Permission[] {
  if (!Array.isArray(json)) throw new Error('It must be a list, such as [{"kv": "read"}].');
  const wrong = json.find((one) => !isPermission(one));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a permission.`);
  const boxed = json.find(isKnown);
  if (boxed !== undefined)
    throw new Error(`${JSON.stringify(boxed)} has a checkbox above; tick that instead.`);
  return json as Permission[];
}

export interface ScopeRowProps {
  readonly scope: Scope;
  readonly onChange: (scope: Scope) => void;
  readonly onRemove: () => void;
  /** Id of a `<datalist>` with bucket names. */
  readonly bucketList: string;
}

/** One scope in which the permissions of a limit apply. */
function ScopeRow({ scope, onChange, onRemove, bucketList }: ScopeRowProps) {
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

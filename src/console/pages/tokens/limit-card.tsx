import type { Limit, Permission } from "../../../client/index.ts";
import { Button } from "../../ui/button.tsx";
import { Check } from "../../ui/field.tsx";
import { JsonField } from "./json-field.tsx";
import { isIdle } from "./limits.ts";
import { families, isKnown, isPermission, isSame } from "./permissions.ts";
import { ScopeRow } from "./scope-row.tsx";

export interface LimitCardProps {
  readonly number: number;
  readonly limit: Limit;
  readonly onChange: (limit: Limit) => void;
  readonly onRemove: () => void;
  readonly onProblem: (isWrong: boolean) => void;
  readonly bucketList: string;
}

/** Permissions, and where they hold. */
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
          // A scope has no name of its own, and its place is all that tells it from others.
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
            {actions.map(({ permission, words }) => (
              <Check
                key={words}
                label={words}
                checked={permissions.some((one) => isSame(one, permission))}
                onChange={(on) => toggle(permission, on)}
              />
            ))}
          </fieldset>
        ))}
      </div>
      <details open={others.length > 0}>
        <summary>Other permissions</summary>
        <JsonField
          label="As a JSON list"
          hint={'Of the wider system, such as {"kv": "read"} or {"task": {"run": "nightly-*"}}.'}
          value={others}
          read={readOthers}
          onChange={(next) => onChange({ ...limit, permissions: [...known, ...next] })}
          onProblem={onProblem}
        />
      </details>
      {isIdle(limit) && (
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
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is no permission.`);
  const boxed = json.find(isKnown);
  if (boxed !== undefined) throw new Error(`${JSON.stringify(boxed)} has a box of its own above.`);
  return json as Permission[];
}

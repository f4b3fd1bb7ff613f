import type { Limit, Permission, Scope } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { JsonField } from "./json-field.tsx";
import { grantsNothing, type ScopeKind, scopeKinds, scopeView, takesPattern, toScope } from "./limits.ts";
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
      <legend>{t.tokens.limit(number)}</legend>
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
          {t.tokens.addScope}
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
        <summary>{t.tokens.otherPermissions}</summary>
        <JsonField
          label={t.tokens.asJsonList}
          hint={t.tokens.otherHint}
          value={others}
          read={readOthers}
          onChange={(next) => onChange({ ...limit, permissions: [...known, ...next] })}
          onProblem={onProblem}
        />
      </details>
      {grantsNothing(limit) && (
        <p class="hint">
          {t.tokens.grantsNothing(scopes.length === 0 ? t.tokens.noScope : t.tokens.noPermission)}
        </p>
      )}
      <div class="row">
        <Button icon="trash" kind="quiet" onClick={onRemove}>
          {t.tokens.removeLimit(number)}
        </Button>
      </div>
    </fieldset>
  );
}

function readOthers(json: unknown): Permission[] {
  if (!Array.isArray(json)) throw new Error(t.tokens.mustBeList);
  const wrong = json.find((one) => !isPermission(one));
  if (wrong !== undefined) throw new Error(t.tokens.notPermission(JSON.stringify(wrong)));
  const boxed = json.find(isKnown);
  if (boxed !== undefined) throw new Error(t.tokens.hasCheckbox(JSON.stringify(boxed)));
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
  const phrases = t.tokens.scopes[kind];
  return (
    <div class="tokens-scope">
      <Field label={t.tokens.scope}>
        <select
          value={kind}
          onChange={(event: Event) => onChange(toScope({ kind: typed(event) as ScopeKind, name }))}
        >
          {scopeKinds.map((value) => (
            <option key={value} value={value}>
              {t.tokens.scopes[value].title}
            </option>
          ))}
        </select>
      </Field>
      {kind !== "global" && (
        <Field label={phrases.name} hint={takesPattern(kind) ? t.tokens.pattern : undefined}>
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
      <IconButton icon="close" label={t.tokens.removeScope} onClick={onRemove} />
    </div>
  );
}

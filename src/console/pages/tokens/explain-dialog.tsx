import { useId, useState } from "preact/hooks";
import type { Limit, Permission, ResultOf, Token } from "../../../client/index.ts";
import { sentences } from "../../format.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";
import { useBucketNames } from "./bucket-names.ts";
import { limitText, otherText, type ScopeKind, scopeKinds, takesPattern, toScope } from "./limits.ts";
import { families, isKnown, isSame } from "./permissions.ts";
import { displayName } from "./token-actions.ts";

/** Asks the server whether a token may do something, and tells by which limit. */
export function ExplainDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  return (
    <Dialog title={t.tokens.explainTitle(displayName(token))} onClose={onClose} closesOnBackdrop>
      <ExplainForm token={token} />
    </Dialog>
  );
}

export function ExplainForm({ token }: { readonly token: Token }) {
  const { client, me } = useSession();
  const { names } = useBucketNames();
  const list = useId();
  const others = otherPermissions(token);
  const [permission, setPermission] = useState<Permission>({ static_bucket_file: "read" });
  const [kind, setKind] = useState<ScopeKind>("static_bucket");
  const [name, setName] = useState("");
  const isComplete = kind === "global" || name !== "";
  const target = token.token_key === me.token_key ? null : token.token_key;
  const { value, error, reload } = useLoad(
    async (signal) => {
      if (!isComplete) return undefined;
      const asked = { permission, scope: toScope({ kind, name }), target_token: target };
      return { asked, verdict: await client.call("token_explain", asked, { signal }) };
    },
    [client, target, JSON.stringify(permission), kind, name],
  );
  const text = JSON.stringify(permission);
  return (
    <div class="form tokens-explain">
      <Field label={t.tokens.permission}>
        <select
          value={text}
          data-initial-focus
          onChange={(event: Event) => setPermission(JSON.parse(typed(event)) as Permission)}
        >
          {families.map(({ name: family, title, actions }) => (
            <optgroup key={family} label={title}>
              {actions.map((action) => (
                <option key={action.label} value={JSON.stringify(action.permission)}>
                  {t.tokens.familyActions(title, action.label)}
                </option>
              ))}
            </optgroup>
          ))}
          {others.length > 0 && (
            <optgroup label={t.tokens.otherPermissions}>
              {others.map((one) => (
                <option key={JSON.stringify(one)} value={JSON.stringify(one)}>
                  {otherText(one)}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </Field>
      <div class="tokens-pair">
        <Field label={t.tokens.scope}>
          <select value={kind} onChange={(event: Event) => setKind(typed(event) as ScopeKind)}>
            {scopeKinds.map((one) => (
              <option key={one} value={one}>
                {t.tokens.scopes[one].title}
              </option>
            ))}
          </select>
        </Field>
        {kind !== "global" && (
          <Field label={t.tokens.scopes[kind].name} hint={takesPattern(kind) ? t.tokens.pattern : undefined}>
            <input
              type="text"
              list={kind === "static_bucket" ? list : undefined}
              spellcheck={false}
              autocapitalize="off"
              autocomplete="off"
              value={name}
              onInput={(event: Event) => setName(typed(event))}
            />
          </Field>
        )}
      </div>
      <datalist id={list}>
        {names.map((bucket) => (
          <option key={bucket} value={bucket} />
        ))}
      </datalist>
      <div class="tokens-verdict" role="status" aria-label={t.tokens.answer}>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {error === undefined && (value === undefined || !isComplete) && (
          <p class="muted">{isComplete ? t.frame.loading : t.tokens.nameScope}</p>
        )}
        {error === undefined && value !== undefined && isComplete && (
          <Verdict verdict={value.verdict} limits={token.token_limit as Limit[]} />
        )}
      </div>
    </div>
  );
}

/** Permissions of the token that have no checkbox, so that they can be asked about too. */
function otherPermissions({ token_limit }: Token): Permission[] {
  const granted = (Array.isArray(token_limit) ? (token_limit as Limit[]) : []).flatMap(
    ({ permissions }) => permissions ?? [],
  );
  return granted.filter(
    (one, at) => !isKnown(one) && granted.findIndex((other) => isSame(one, other)) === at,
  );
}

interface VerdictProps {
  readonly verdict: ResultOf<"token_explain">;
  readonly limits: readonly Limit[];
}

/** The server's answer in words. */
function Verdict({ verdict: { allowed, reason, limit, elsewhere }, limits }: VerdictProps) {
  const lines = [...(limit === null ? [] : [limit]), ...elsewhere];
  return (
    <>
      <p class={allowed ? "tokens-yes" : "tokens-no"}>
        <Icon name={allowed ? "check" : "close"} />
        <span>
          <strong>{allowed ? t.tokens.yes : t.tokens.no}</strong>{" "}
          {sentences(
            t.tokens.reasons[reason],
            reason === "not_granted" && elsewhere.length > 0 && t.tokens.elsewhere,
          )}
        </span>
      </p>
      {lines.length > 0 && (
        <ul class="tokens-summary">
          {lines.map((at) => {
            const shown = limits[at];
            return (
              <li key={at}>
                <strong>{t.tokens.limit(at + 1)}</strong>{" "}
                {shown === undefined ? t.tokens.changedMeanwhile : limitText(shown)}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

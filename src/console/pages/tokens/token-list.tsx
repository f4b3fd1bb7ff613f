import { useEffect, useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { plural } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
import { limitSummary } from "./limits.ts";
import { PasswordDialog } from "./password-form.tsx";
import { deleteToken, displayName, rotateSecret } from "./token-actions.ts";
import { timesOf, validityOf } from "./validity.ts";

export interface TokenListProps {
  /** Tokens in the server's order: the Super Token has the lowest id and is first. */
  readonly tokens: readonly Token[];
  readonly onEdit: (token: Token) => void;
  readonly onChanged: () => void;
}

/** Tokens shown at first. Rendering thousands would make the page slow. */
const maxInitialTokens = 100;
const clockIntervalMs = 30_000;

export function TokenList({ tokens, onEdit, onChanged }: TokenListProps) {
  const wanted = route.value.query.get("find") ?? "";
  const [all, setAll] = useState(false);
  const [changing, setChanging] = useState<Token>();
  const now = useNow();
  const found = tokens.filter((token) => isFound(token, wanted));
  const shown = all ? found : found.slice(0, maxInitialTokens);
  return (
    <>
      <Field label="Find" hint="By name, key, user name, creator, bucket or permission.">
        <input
          type="search"
          value={wanted}
          onInput={(event: Event) => replaceQuery({ find: typed(event) })}
        />
      </Field>
      <p class="muted" role="status">
        {wanted === ""
          ? plural(tokens.length, "token")
          : `${found.length} of ${plural(tokens.length, "token")}`}
      </p>
      <ul class="tokens-list">
        {shown.map((token) => (
          <TokenCard
            key={token.token_key}
            token={token}
            isSuper={token === tokens[0]}
            now={now}
            onEdit={() => onEdit(token)}
            onPassword={() => setChanging(token)}
            onGone={onChanged}
          />
        ))}
      </ul>
      {found.length === 0 && <p class="empty">No token matches. Shorten or change the search.</p>}
      {shown.length < found.length && (
        <div class="row">
          <Button onClick={() => setAll(true)}>Show all {found.length}</Button>
        </div>
      )}
      {changing !== undefined && <PasswordDialog token={changing} onClose={() => setChanging(undefined)} />}
    </>
  );
}

function isFound({ token_key, name, username, created_by, token_limit }: Token, wanted: string): boolean {
  const text = [token_key, name ?? "", username ?? "", created_by ?? "", ...limitSummary(token_limit)]
    .join(" ")
    .toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Current time, updated regularly so that expiry is shown. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), clockIntervalMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

interface TokenCardProps {
  readonly token: Token;
  readonly isSuper: boolean;
  readonly now: number;
  readonly onEdit: () => void;
  readonly onPassword: () => void;
  readonly onGone: () => void;
}

const badges = { valid: "badge", expired: "badge bad", early: "badge warn" };

/** One token: name, rights, validity and actions. */
function TokenCard({ token, isSuper, now, onEdit, onPassword, onGone }: TokenCardProps) {
  const session = useSession();
  const { state, text } = validityOf(token, now);
  return (
    <li class="card tokens-token" aria-label={displayName(token)}>
      <div class="tokens-head">
        {token.name !== null && <strong>{visibleText(token.name)}</strong>}
        {token.username !== null && <strong>{token.username}</strong>}
        <code>{token.token_key}</code>
        {isSuper && <span class="badge accent">Super Token</span>}
        {token.token_key === session.me.token_key && <span class="badge good">you</span>}
        <span class={badges[state]}>{text}</span>
        {token.created_by !== null && (
          <span class="muted">
            created by <code>{token.created_by}</code>
          </span>
        )}
      </div>
      <p class="muted">{timesOf(token, now)}</p>
      <ul class="tokens-summary">
        {isSuper ? (
          <li>Everything. It cannot be edited or deleted.</li>
        ) : (
          limitSummary(token.token_limit).map((line) => <li key={line}>{line}</li>)
        )}
      </ul>
      <div class="row">
        {!isSuper && (
          <Button icon="edit" onClick={onEdit}>
            Edit
          </Button>
        )}
        <Button onClick={() => rotateSecret(session, token)}>Rotate secret</Button>
        {token.username !== null && <Button onClick={onPassword}>Change the password</Button>}
        {!isSuper && (
          <Button
            icon="trash"
            kind="quiet"
            onClick={async () => {
              if (await deleteToken(session, token)) onGone();
            }}
          >
            Delete
          </Button>
        )}
      </div>
    </li>
  );
}

import { useEffect, useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { plural } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { Button } from "../../ui/button.tsx";
import { Field, typed } from "../../ui/field.tsx";
import { limitSummary } from "./limits.ts";
import { PasswordDialog } from "./password-form.tsx";
import { TokenCard } from "./token-card.tsx";

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
      <Field label="Find" hint="By key, user name, creator, bucket or permission.">
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

function isFound({ token_key, username, created_by, token_limit }: Token, wanted: string): boolean {
  const text = [token_key, username ?? "", created_by ?? "", ...limitSummary(token_limit)]
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

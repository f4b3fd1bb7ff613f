import { useEffect, useMemo, useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { number } from "../../format.ts";
import { go, linkTo, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { typed } from "../../ui/field.tsx";
import type { MenuItem } from "../../ui/more-menu.tsx";
import { ExplainDialog } from "./explain-dialog.tsx";
import { PasswordDialog } from "./password-form.tsx";
import { deleteToken, deleteTokens, rotateSecret } from "./token-actions.ts";
import {
  type Column,
  isIn,
  type ListedToken,
  parseTableQuery,
  select,
  states,
  type TableQuery,
  toListed,
  toQuery,
} from "./token-order.ts";
import { TokenTable } from "./token-table.tsx";

export interface TokenListProps {
  /** Tokens in the server's order: the Super Token has the lowest id and is first. */
  readonly tokens: readonly Token[];
  readonly onChanged: () => void;
}

const clockIntervalMs = 30_000;

/** Every token of the server: search, filter, sort, and actions on one or several. */
export function TokenList({ tokens, onChanged }: TokenListProps) {
  const session = useSession();
  const query = parseTableQuery(route.value.query);
  const change = (part: Partial<TableQuery>) => replaceQuery(toQuery({ ...query, ...part }));
  const [password, setPassword] = useState<Token>();
  const [explained, setExplained] = useState<Token>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useCurrentTime();
  const everything = t.tokens.everything;
  const all = useMemo(() => toListed(tokens, everything), [tokens, everything]);
  const { find, state, column, isDescending } = query;
  const found = useMemo(
    () => select(all, { find, state, column, isDescending }, now),
    [all, find, state, column, isDescending, now],
  );
  // Only what is shown can be deleted: nobody should lose a token that a search hides.
  const marked = found.filter(({ token }) => chosen.has(token.token_key)).map(({ token }) => token);
  const actionsOf = ({ token, isSuper }: ListedToken): MenuItem[] => [
    ...(isSuper
      ? []
      : [
          {
            label: t.tokens.edit,
            icon: "edit" as const,
            onSelect: () => go(linkTo("tokens", [], { edit: token.token_key })),
          },
        ]),
    { label: t.tokens.whatMayItDo, icon: "help", onSelect: () => setExplained(token) },
    { label: t.tokens.rotate, icon: "retry", onSelect: () => rotateSecret(session, token) },
    ...(token.username === null
      ? []
      : [{ label: t.tokens.changePassword, icon: "lock" as const, onSelect: () => setPassword(token) }]),
    ...(isSuper
      ? []
      : [
          {
            label: t.frame.delete,
            icon: "trash" as const,
            danger: true,
            onSelect: async () => {
              if (await deleteToken(session, token)) onChanged();
            },
          },
        ]),
  ];
  return (
    <>
      <div class="tokens-bar">
        <input
          type="search"
          aria-label={t.tokens.find}
          placeholder={t.tokens.findToken}
          title={t.tokens.findHint}
          value={find}
          onInput={(event: Event) => change({ find: typed(event) })}
        />
        <fieldset class="segments">
          <legend class="unseen">{t.tokens.showWhich}</legend>
          {states.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={state === one}
              onClick={() => change({ state: one })}
            >
              {t.tokens.states[one]}{" "}
              <small>{number(all.filter((listed) => isIn(listed, one, now)).length)}</small>
            </button>
          ))}
        </fieldset>
      </div>
      <div class="tokens-count">
        <span class="muted" role="status">
          {marked.length > 0
            ? t.tokens.chosen(t.tokens.countTokens(marked.length))
            : found.length === all.length
              ? t.tokens.countTokens(all.length)
              : t.tokens.foundOf(found.length, t.tokens.countTokens(all.length))}
        </span>
        {marked.length > 0 && (
          <>
            <Button
              icon="trash"
              kind="danger"
              onClick={async () => {
                if (!(await deleteTokens(session, marked))) return;
                setChosen(new Set());
                onChanged();
              }}
            >
              {t.tokens.deleteMany(t.tokens.countTokens(marked.length))}
            </Button>
            <Button kind="quiet" onClick={() => setChosen(new Set())}>
              {t.tokens.chooseNone}
            </Button>
          </>
        )}
      </div>
      {found.length === 0 ? (
        <p class="empty">{t.tokens.noMatch}</p>
      ) : (
        <TokenTable
          tokens={found}
          now={now}
          column={column}
          isDescending={isDescending}
          onSort={(next) => change(sortedBy(query, next))}
          chosen={chosen}
          onChoose={(keys, on) =>
            setChosen((before) => (on ? before.union(new Set(keys)) : before.difference(new Set(keys))))
          }
          actionsOf={actionsOf}
        />
      )}
      {password !== undefined && <PasswordDialog token={password} onClose={() => setPassword(undefined)} />}
      {explained !== undefined && <ExplainDialog token={explained} onClose={() => setExplained(undefined)} />}
    </>
  );
}

/** The first click sorts by a column, times with the latest first; the next ones turn the order. */
function sortedBy({ column, isDescending }: TableQuery, next: Column): Partial<TableQuery> {
  if (column === next) return { isDescending: !isDescending };
  return { column: next, isDescending: next === "created" || next === "used" };
}

/** Current time, updated regularly so that expiry is shown. */
function useCurrentTime(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), clockIntervalMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

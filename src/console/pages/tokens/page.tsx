import { useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { closeTo, go, linkTo, type Route, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { CreateForm } from "./create-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { ExplainDialog, ExplainForm } from "./explain-dialog.tsx";
import { limitSummary } from "./limits.ts";
import { NewSecretDialog } from "./new-secret.tsx";
import { parsePurpose } from "./token-draft.ts";
import { TokenList } from "./token-list.tsx";
import { validityOf } from "./validity.ts";

export default function TokensPage() {
  const { rights } = useSession();
  return (
    <>
      {rights.may("token_list_all_tokens") ? (
        <AllTokens />
      ) : rights.may("token_create") ? (
        <OnlyCreate />
      ) : (
        <OwnToken />
      )}
      <NewSecretDialog />
    </>
  );
}

/** Page for the Super Token: list, create and edit. */
function AllTokens() {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    async (signal) => (await client.call("token_list_all_tokens", {}, { signal })).tokens,
    [client],
  );
  const back = () => closeTo({}, isList);
  const done = () => {
    back();
    reload();
  };
  const editing = route.value.query.get("edit");
  if (route.value.query.has("preset"))
    return (
      <Page key="new" title={t.tokens.newToken}>
        <CreateForm
          key={JSON.stringify(requestedToken())}
          {...requestedToken()}
          onDone={done}
          onCancel={back}
        />
      </Page>
    );
  if (editing !== null)
    return (
      <Page key="edit" title={t.tokens.editAToken}>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value === undefined && error === undefined && <Skeleton rows={5} />}
        {value !== undefined && (
          <EditView key={editing} token={editable(value, editing)} onDone={done} onCancel={back} />
        )}
      </Page>
    );
  return (
    <Page
      key="list"
      tall
      title={t.frame.tokens}
      actions={
        <Button icon="plus" kind="primary" onClick={() => go(linkTo("tokens", [], { preset: "webdav" }))}>
          {t.tokens.newToken}
        </Button>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton rows={5} />}
      {value !== undefined && <TokenList tokens={value} onChanged={reload} />}
    </Page>
  );
}

interface EditedProps {
  /** Undefined when the token does not exist or cannot be edited. */
  readonly token: Token | undefined;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function EditView({ token, onDone, onCancel }: EditedProps) {
  if (token !== undefined) return <EditForm token={token} onDone={onDone} onCancel={onCancel} />;
  return <p>{rich(t.tokens.notEditable, { link: <a href="#/tokens">{t.tokens.toAllTokens}</a> })}</p>;
}

/** Token with this key. The Super Token cannot be edited. */
function editable(tokens: readonly Token[], key: string): Token | undefined {
  return tokens.find((token) => token.token_key === key && token.super !== true);
}

/** Whether a route shows the list and no form. */
function isList({ query }: Route): boolean {
  return !query.has("preset") && !query.has("edit");
}

/** Page for a token that may not create others: what it may do itself. */
function OwnToken() {
  const { me } = useSession();
  return (
    <Page title={t.tokens.yourToken}>
      <section class="card form" aria-label={t.tokens.rights}>
        <h2>{t.tokens.whatItMay}</h2>
        <ul class="tokens-summary">
          {limitSummary(me.token_limit).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <p class="muted">{sentence(validityOf(me, Date.now()).text)}</p>
      </section>
      <section class="card form" aria-label={t.tokens.whatMayItDo}>
        <h2>{t.tokens.whatMayItDo}</h2>
        <ExplainForm token={me} />
      </section>
    </Page>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Page for a token that may only create others. */
function OnlyCreate() {
  const { me } = useSession();
  const [explaining, setExplaining] = useState(false);
  return (
    <Page
      title={t.tokens.newToken}
      actions={
        <Button icon="help" kind="quiet" onClick={() => setExplaining(true)}>
          {t.tokens.whatMayMine}
        </Button>
      }
    >
      {explaining && <ExplainDialog token={me} onClose={() => setExplaining(false)} />}
      <p>{t.tokens.onlyCreate}</p>
      <CreateForm
        key={JSON.stringify(requestedToken())}
        {...requestedToken()}
        onDone={() => replaceQuery({})}
      />
    </Page>
  );
}

/** Purpose and bucket of the new token, from the address. */
function requestedToken() {
  const { query } = route.value;
  return {
    purpose: parsePurpose(query.get("preset")) ?? "webdav",
    bucket: query.get("bucket") ?? "",
  } as const;
}

import type { Token } from "../../../client/index.ts";
import { closeTo, go, linkTo, type Route, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { CreateForm } from "./create-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { NewSecretDialog } from "./new-secret.tsx";
import { parsePurpose } from "./token-draft.ts";
import { TokenList } from "./token-list.tsx";

export default function TokensPage() {
  const { rights } = useSession();
  return (
    <>
      {rights.isSuper ? <AllTokens /> : <OnlyCreate />}
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
      <Page key="new" title="New token">
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
      <Page key="edit" title="Edit a token">
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value === undefined && error === undefined && <p class="loading">Loading…</p>}
        {value !== undefined && (
          <EditView key={editing} token={editable(value, editing)} onDone={done} onCancel={back} />
        )}
      </Page>
    );
  return (
    <Page
      key="list"
      title="Tokens"
      actions={
        <Button icon="plus" kind="primary" onClick={() => go(linkTo("tokens", [], { preset: "webdav" }))}>
          New token
        </Button>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && (
        <TokenList
          tokens={value}
          onEdit={({ token_key }) => go(linkTo("tokens", [], { edit: token_key }))}
          onChanged={reload}
        />
      )}
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
  return (
    <p>
      No token with this key can be edited. It may have been deleted. <a href="#/tokens">Go to all tokens.</a>
    </p>
  );
}

/** Token with this key. The Super Token, which is first in the list, cannot be edited. */
function editable(tokens: readonly Token[], key: string): Token | undefined {
  return tokens.slice(1).find(({ token_key }) => token_key === key);
}

/** Whether a route shows the list and no form. */
function isList({ query }: Route): boolean {
  return !query.has("preset") && !query.has("edit");
}

/** Page for a token that may only create others. */
function OnlyCreate() {
  return (
    <Page title="New token">
      <p>
        Your token can create others, with permissions that it has itself. Only the Super Token can list all
        tokens.
      </p>
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

import { expect } from "bun:test";
import { install, updateStory } from "../support/installed.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { compileVersions, Releases } from "../support/update.ts";

updateStory(
  "a server that is configured by its environment updates itself, and keeps those settings",
  async () => {
    const versions = await compileVersions();
    using releases = new Releases(versions);
    await using home = await install(versions, { releases });
    const database = await newPostgresDatabase();
    const env = {
      NODE_SERVER_WS_LISTENER: new URL(home.url).host,
      NODE_SERVER_DATABASE_URL: database.url,
      NODE_SERVER_STATIC_PATH: "files",
      NODE_SERVER_ENABLE_UNIX_SOCKET: "false",
    };
    const server = home.launch(["serve"], env);
    await server.says(/INFO server: listening on \S+\n/);
    expect(await server.update(versions.two.tag)).toMatchObject({ result: null });
    await server.runs(versions.two);
    const opened = (await server.log()).find(({ fields }) => fields.event === "database.opened");
    const { host, pathname } = new URL(database.url);
    expect(opened?.fields).toMatchObject({ database: host + pathname, static_path: `${home.path}/files` });
    await server[Symbol.asyncDispose]();
    await database.drop();
  },
);

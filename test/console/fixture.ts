import { systemClock } from "../../src/base/clock.ts";
import { bundleConsole } from "../../src/bundle.ts";
import { Console, serveConsole } from "../../src/http/console/console.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";

export interface Changes {
  /** Changes the page's text before it is sent. */
  readonly page?: (html: string) => string;
  /** Scripts by path. */
  readonly others?: Readonly<Record<string, string>>;
}

/** Console whose sources are in `folder`, served like the real one. */
export function serveFolder(folder: string, { page = (html) => html, others = {} }: Changes = {}) {
  const hub = new LogHub();
  const logged: string[] = [];
  hub.attach({
    filter: parseFilter("trace"),
    write: ({ message, fields }) => logged.push(`${message} ${JSON.stringify(fields)}`),
  });
  const console = new Console({
    isOn: () => true,
    load: () => bundleConsole(folder),
    log: hub.logger("server"),
    clock: systemClock,
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const script = others[pathname];
      if (script !== undefined)
        return new Response(script, { headers: { "content-type": "text/javascript" } });
      const answer = await serveConsole(request, pathname, console);
      if (pathname !== "/node/console/" || !answer.ok) return answer;
      return new Response(page(await answer.text()), { headers: answer.headers });
    },
  });
  return {
    url: server.url.origin,
    logged,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

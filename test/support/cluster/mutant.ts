import { join, resolve } from "node:path";
import { root } from "../update.ts";

/** A change of the source that makes a known mistake: in the text of a module, every `from` becomes `to`. */
export interface Mutation {
  readonly module: string;
  readonly from: RegExp;
  readonly to: string;
}

/** Compiles the server with these mistakes; returns the path of the binary, in `folder`. A mistake that fits nowhere is refused. */
export async function compileMutant(folder: string, mutations: readonly Mutation[]): Promise<string> {
  const outfile = join(folder, "mutant");
  const made: Mutation[] = [];
  const record = { cargo_version: "0.0.0", cargo_target_triple: "x86_64-unknown-linux-gnu" };
  const built = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
    define: { BUILD_RECORD: JSON.stringify(record) },
    plugins: [
      {
        name: "make mistakes",
        setup: (build) =>
          void build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
            let contents = await Bun.file(path).text();
            for (const mutation of mutations) {
              if (resolve(root, "src", mutation.module) !== path || !mutation.from.test(contents)) continue;
              contents = contents.replace(mutation.from, mutation.to);
              made.push(mutation);
            }
            return { contents, loader: "ts" };
          }),
      },
    ],
  });
  if (!built.success) throw new AggregateError(built.logs, "the mutant was not compiled");
  for (const mutation of mutations)
    if (!made.includes(mutation)) throw new Error(`nothing in ${mutation.module} matches ${mutation.from}`);
  return outfile;
}

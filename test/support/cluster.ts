import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";

export interface TestCluster extends AsyncDisposable {
  readonly nodes: readonly [TestNode, TestNode, ...TestNode[]];
  /** `<key>:<secret>` of the Super Token of all of them. */
  readonly superToken: string;
}

/** Two nodes, or more, on one PostgreSQL and one folder of blobs. `more` are options of each node after the first. */
export async function testCluster(
  first: TestNodeOptions,
  ...more: ReadonlyArray<(first: TestNode) => TestNodeOptions | Promise<TestNodeOptions>>
): Promise<TestCluster> {
  const one = await testNode({ store: "objects over postgres", ...first });
  const others: TestNode[] = [];
  const close = async () => {
    for (const node of others) await node[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
  };
  try {
    for (const options of more.length === 0 ? [() => ({})] : more)
      others.push(
        await testNode({
          store: "objects over postgres",
          databaseUrl: one.databaseUrl,
          files: one.files,
          ...(await options(one)),
        }),
      );
    const [two, ...rest] = others;
    if (two === undefined) throw new TypeError("a cluster has two nodes");
    return { nodes: [one, two, ...rest], superToken: one.superToken, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Scope names what an exclusive transaction is about: those of one scope take turns on all nodes, those of different scopes do
 * not wait for each other. All scopes are made here. No transaction takes two of them, so none can wait in a circle.
 */
export type Scope = string & { readonly brand: unique symbol };

const scope = (name: string) => name as Scope;

/** The tables themselves: nothing else is exclusive at the same time. */
export const schemaScope = scope("schema");
/** The Super Token. */
export const superTokenScope = scope("super-token");
/** The records of all buckets: names, paths and the HTTP root of each must not conflict with those of any other. */
export const bucketsScope = scope("buckets");
/** The row that ties the database to the store of its files. */
export const storeScope = scope("store");

/** `taskScope` is the lease of a task that one node does for all. */
export function taskScope(task: string): Scope {
  return scope(`task/${task}`);
}

/** `namespaceScope` is one namespace of `kv`: the locks of one bucket, for instance. */
export function namespaceScope(namespace: string): Scope {
  return scope(`kv/${namespace}`);
}

/**
 * `lockKey` is the number of a scope's advisory lock in PostgreSQL, equal on all nodes and in all versions. Scopes whose numbers
 * are equal by chance would only take turns.
 */
export function lockKey(scope: Scope): bigint {
  const digest = new Bun.CryptoHasher("sha256").update(`node-server/${scope}`).digest();
  return digest.readBigInt64BE(0);
}

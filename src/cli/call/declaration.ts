import { z } from "zod";
import { nearest } from "../../base/nearest.ts";
import { credentialParams } from "../../client/index.ts";
import { methods } from "../../methods/index.ts";
import type { Method, MethodTable } from "../../rpc/method.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

/** MethodDeclaration is a method as the command line needs it: its declaration, which cannot be run here. */
export type MethodDeclaration = Method<never>;

const table: MethodTable<never> = methods;

export const methodNames: readonly string[] = Object.keys(table);

export function findMethod(name: string): MethodDeclaration {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found !== undefined) return found;
  const near = nearest(name, methodNames);
  const hint =
    near.length === 0 ? "`node-server call --help` lists them" : `did you mean ${near.join(" or ")}?`;
  throw new WrongUsage(`there is no method ${name}; ${hint}`);
}

/** The name of the param that takes the caller's token; undefined when the method has none. */
export function credentialOf(name: string): string | undefined {
  return Object.hasOwn(credentialParams, name) ? credentialParams[name] : undefined;
}

export interface DeclaredParam {
  readonly name: string;
  readonly type: z.core.$ZodType;
  readonly required: boolean;
  readonly description: string;
}

/** Lists the params of a method, without the one of the caller's token. */
export function paramsOf(name: string): DeclaredParam[] {
  const credential = credentialOf(name);
  return Object.entries(findMethod(name).accepts.shape).flatMap(([param, type]) =>
    param === credential
      ? []
      : [
          {
            name: param,
            type,
            required: !z.safeParse(type, undefined).success,
            description: z.globalRegistry.get(type)?.description ?? "",
          },
        ],
  );
}

import type { Context } from "../context.ts";

export type Colour = "red" | "green" | "yellow" | "blue" | "cyan" | "dim";

const codes: Readonly<Record<Colour, string>> = {
  red: "\x1b[31m",
  green: "\x1b[32m",
  yellow: "\x1b[33m",
  blue: "\x1b[34m",
  cyan: "\x1b[36m",
  dim: "\x1b[2m",
};

/**
 * `isColoured` returns whether to print colours: on a terminal, unless the user turned them off (no-color.org), and elsewhere if the user
 * asks for them (force-color.org).
 */
export function isColoured({ out, env }: Pick<Context, "out" | "env">): boolean {
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0" && !env.NO_COLOR) return true;
  return out.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

export type Paint = (colour: Colour, text: string) => string;

export function paintFor(ctx: Context): Paint {
  return isColoured(ctx) ? (colour, text) => `${codes[colour]}${text}\x1b[0m` : (_, text) => text;
}

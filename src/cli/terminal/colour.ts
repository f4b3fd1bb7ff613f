export type Colour = "red" | "green" | "yellow" | "blue" | "cyan" | "dim";

const codes: Readonly<Record<Colour, string>> = {
  red: "\x1b[31m",
  green: "\x1b[32m",
  yellow: "\x1b[33m",
  blue: "\x1b[34m",
  cyan: "\x1b[36m",
  dim: "\x1b[2m",
};

/** `isColoured` tells whether to print colours: on a terminal, unless the user turned them off (no-color.org). */
export function isColoured(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
}

export type Paint = (colour: Colour, text: string) => string;

export function paintFor(stream: { readonly isTTY?: boolean }): Paint {
  return isColoured(stream) ? (colour, text) => `${codes[colour]}${text}\x1b[0m` : (_, text) => text;
}

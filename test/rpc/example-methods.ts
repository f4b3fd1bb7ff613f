import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";

const { method } = declareOver<Services>();

/** The methods of the specification's examples, and what ran, in order. */
export function exampleMethods() {
  const ran: unknown[] = [];
  const sumOf = (a: number, b: number, c: number) => a + b + c;
  const three = { a: z.number(), b: z.number(), c: z.number() };
  const table = {
    subtract: method({
      effect: "reads",
      doc: "The example of the specification.",
      need: anyone,
      params: { minuend: z.number(), subtrahend: z.number() },
      result: z.number(),
      run: (_, { minuend, subtrahend }) => minuend - subtrahend,
    }),
    sum: method({
      effect: "reads",
      doc: "Adds three numbers.",
      need: anyone,
      params: three,
      result: z.number(),
      run: (_, { a, b, c }) => sumOf(a, b, c),
    }),
    get_data: method({
      effect: "reads",
      doc: "Answers a word and a number.",
      need: anyone,
      params: {},
      result: z.array(z.unknown()),
      run: () => ["hello", 5],
    }),
    update: method({
      effect: "reads",
      doc: "Notes its params.",
      need: anyone,
      params: { ...three, d: z.number(), e: z.number() },
      result: z.null(),
      run: (_, params) => {
        ran.push(["update", ...Object.values(params)]);
        return null;
      },
    }),
    notify_sum: method({
      effect: "reads",
      doc: "Notes the sum.",
      need: anyone,
      params: three,
      result: z.null(),
      run: (_, { a, b, c }) => {
        ran.push(["notify_sum", sumOf(a, b, c)]);
        return null;
      },
    }),
    notify_hello: method({
      effect: "reads",
      doc: "Notes a number.",
      need: anyone,
      params: { number: z.number() },
      result: z.null(),
      run: (_, { number }) => {
        ran.push(["notify_hello", number]);
        return null;
      },
    }),
    echo_after: method({
      effect: "reads",
      doc: "Answers its text after a while; notes when it begins and when it ends.",
      need: anyone,
      params: { text: z.string(), ms: z.number() },
      result: z.string(),
      run: async (_, { text, ms }) => {
        ran.push(`${text} begins`);
        await Bun.sleep(ms);
        ran.push(`${text} ends`);
        return text;
      },
    }),
  };
  return { table, ran };
}

import { Fault } from "../../../base/fault.ts";

/**
 * `toFault` turns an ErrorResponse into a Fault with the server's own message, the SQLSTATE, a hint, and the position in the text.
 */
export function toFault(body: Buffer, position?: (at: number) => Record<string, unknown>): Fault {
  const fields = new Map<string, string>();
  for (const part of body.toString().split("\0"))
    if (part !== "") fields.set(part.slice(0, 1), part.slice(1));
  const at = Number(fields.get("P"));
  const data: Record<string, unknown> = { sqlstate: fields.get("C") };
  for (const [letter, name] of [
    ["D", "detail"],
    ["H", "hint"],
  ] as const)
    if (fields.has(letter)) data[name] = fields.get(letter);
  return new Fault("DatabaseError", fields.get("M") ?? "unknown error", {
    ...data,
    ...(at > 0 ? position?.(at) : {}),
  });
}

export function packet(tag: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(tag), int32(body.length + 4), body]);
}

export function text(value: string): Buffer {
  // A NUL would end the text early, and the rest would be read as protocol.
  if (value.includes("\0")) throw new Fault("InvalidInput", "a NUL character cannot be sent to PostgreSQL");
  return Buffer.from(`${value}\0`);
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** `httpDate` writes a time in Unix milliseconds for an HTTP header: RFC 9110 §5.6.7. */
export const httpDate = inSeconds((date) => date.toUTCString());

/** `isoDate` writes a time in Unix milliseconds as RFC 3339 has it, without a part of a second. */
export const isoDate = inSeconds((date) => `${date.toISOString().slice(0, -".000Z".length)}Z`);

/** Keeps the last text: one file is requested again and again, and the files of a folder are often of the same second. */
function inSeconds(write: (date: Date) => string): (ms: number) => string {
  let last = { second: Number.NaN, text: "" };
  return (ms) => {
    const second = Math.floor(ms / 1000);
    if (second !== last.second) last = { second, text: write(new Date(second * 1000)) };
    return last.text;
  };
}

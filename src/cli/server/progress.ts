/** How far something is, on standard error: a bar on a terminal, a line for every tenth elsewhere. */
export function openProgress(what: string): (bytes: number, total: number | undefined) => void {
  const bar = process.stderr.isTTY === true;
  let last = -1;
  return (bytes, total) => {
    const percent = total === undefined ? undefined : Math.floor((bytes / total) * 100);
    const step = percent === undefined ? Math.floor(bytes / 5e6) : bar ? percent : Math.floor(percent / 10);
    if (step === last) return;
    last = step;
    const size = total === undefined ? megabytes(bytes) : `${megabytes(bytes)} of ${megabytes(total)} MB`;
    if (!bar)
      return void process.stderr.write(`${what}: ${percent === undefined ? "" : `${percent} %, `}${size}\n`);
    const filled = Math.floor((percent ?? 0) / 4);
    const drawn = percent === undefined ? "" : `[${"#".repeat(filled).padEnd(25)}] ${percent} %  `;
    process.stderr.write(`\r${what} ${drawn}${size}${percent === 100 ? "\n" : ""}`);
  };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

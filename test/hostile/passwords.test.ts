import { expect } from "bun:test";
import { callFrom, callText, postOf } from "../support/attackers.ts";
import { until } from "../support/until.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 5000;
const [paddedRequests, paddedBytes] = [130, 10_400_000];
const [smallRequests, checksPerBatch] = [200, 1000];
const hangUps = 60;
const maxRounds = 10;
/** For a right password while others guess, on a machine that may stand still for seconds. */
const maxWaitMs = 20_000;
const attackAddress = "127.0.0.66";
const otherAddress = "127.0.0.8";

const guess = callText("static-bucket_list", '["nobody|wrong"]');
const guessOfKey = callText("static-bucket_list", '["nobody:wrong"]');
const small = `[${Array(checksPerBatch).fill(guess)}]`;
const padding = callText("x", `["${"x".repeat(paddedBytes - small.length)}"]`);
const padded = `[${Array(checksPerBatch - 1).fill(guess)},${padding}]`;

/** A user whose password the server has not seen yet; the token text. */
async function newUser({ server }: WatchedServer, username: string): Promise<string> {
  const password = "correct-horse-battery";
  await server.call("token_create", [server.superToken, { username, password, token_limit: [] }]);
  return `${username}|${password}`;
}

/** How long a right password waits for its result; a server that is busy is asked again, as its answer says. */
async function rightPassword({ server }: WatchedServer, from: string, token: string): Promise<number> {
  const call = callText("token_get", JSON.stringify([token]));
  const start = performance.now();
  const answer = async () => {
    const { result, error } = await callFrom(from, server.url, call);
    if (error !== undefined && error.data.kind !== "Busy") throw new Error(JSON.stringify(error));
    return result !== undefined;
  };
  await until(`a right password from ${from} is answered`, answer, 30_000);
  return Math.round(performance.now() - start);
}

const floods = [
  { what: `${paddedRequests} batches of 10 MB`, connections: paddedRequests, body: padded },
  { what: `${smallRequests} batches of 81 kB`, connections: smallRequests, body: small },
];

for (const { what, connections, body } of floods) {
  attackTest(`F2: wrong passwords cost neither memory nor the time of others: ${what}`, async () => {
    await using target = await WatchedServer.start();
    const [other, neighbour] = [await newUser(target, "other"), await newUser(target, "neighbour")];
    await target.survives(`F2 ${what}`, async () => {
      await using attacker = await target.launch({
        from: attackAddress,
        connections,
        payload: postOf(body),
      });
      await attacker.finished(attackMs / 2);
      const waits = {
        other: await rightPassword(target, otherAddress, other),
        neighbour: await rightPassword(target, attackAddress, neighbour),
      };
      await attacker.finished(attackMs / 2);
      await attacker.stop();
      console.log(
        `F2 ${what}: a right password waited ${waits.other} ms, from the same address ${waits.neighbour} ms`,
      );
      expect(Object.values(waits).filter((ms) => ms > maxWaitMs)).toEqual([]);
    });
  });
}

for (const hangsUp of ["close", "reset"] as const) {
  attackTest(
    `F25: a guess is counted for its address, also when the client hangs up at once (${hangsUp})`,
    async () => {
      await using target = await WatchedServer.start({ logging: 'log_filter = "info"' });
      const { server } = target;
      await target.survives(`F25 ${hangUps} clients that hang up (${hangsUp})`, async () => {
        const addresses = () => [...server.stderr.matchAll(/ address=(\S+)/g)].map(([, address]) => address);
        // What a client resets before the server has read it never arrives: a busy server may read none of the first guesses.
        for (let round = 0; round < maxRounds && !addresses().includes(attackAddress); round += 1) {
          await target.attack(attackMs, {
            from: attackAddress,
            connections: hangUps,
            payload: postOf(guessOfKey),
            hangsUp,
          });
          // The line of this call comes after those of the attack.
          await callFrom(otherAddress, server.url, guessOfKey);
          await until(
            "the guesses are in the log",
            () => addresses().filter((address) => address === otherAddress).length > round,
          );
        }
        expect(new Set(addresses())).toEqual(new Set([attackAddress, otherAddress]));
      });
    },
  );
}

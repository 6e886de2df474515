// Fetches, draws and tells the time, one after the other and four at once.
import { randomUUID, randomBytes } from "node:crypto";

const ask = async (what) => {
  const answer = await fetch("https://api.example/step", { method: "POST", body: JSON.stringify(what) });
  return (await answer.json()).ticket;
};
const draws = () => ({
  id: randomUUID(),
  draw: Math.random(),
  bytes: randomBytes(8).toString("hex"),
  web: crypto.randomUUID(),
  values: [...crypto.getRandomValues(new Uint8Array(4))],
  now: Date.now(),
  date: new Date().toISOString(),
  text: Date(),
  zone: new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" }).format(),
  pid: process.pid,
});

let after = "";
for (let step = 0; step < 3; step++) {
  after = await ask({ worker: 0, step, after, ...draws() });
  console.log(step, after);
}
const many = [1, 2, 3, 4].map((worker) => ask({ worker, step: 0, after: "", ...draws() }));
console.log((await Promise.all(many)).join(" "));
const first = await Promise.race([5, 6, 7].map((worker) => ask({ worker, step: 0, after: "", ...draws() })));
console.log("first", first);
await fetch("https://api.example/order", { method: "POST", body: JSON.stringify({ first }) });

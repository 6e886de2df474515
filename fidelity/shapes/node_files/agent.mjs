// Looks for files and folders side by side, then runs shells side by side, and tells the order of the answers.
import { exec } from "node:child_process";
import fs from "node:fs";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";

const FOLDERS = 12;
for (let one = 0; one < FOLDERS; one++) {
  await mkdir(`tree/${one}`, { recursive: true });
  await writeFile(`tree/${one}/SKILL.md`, "x".repeat(1 + ((one * 7919) % 13) * 60_000));
}

for (let step = 0; step < 3; step++) {
  const found = [];
  const told = (what) => found.push(`${what} ${randomUUID()}`);
  const walk = async (folder) => {
    for (const name of await readdir(folder)) {
      const path = `${folder}/${name}`;
      if ((await stat(path)).isFile()) told(`${path} ${(await readFile(path)).length}`);
      else await walk(path);
    }
  };
  const ran = async (number) => {
    await new Promise((on) => exec(`i=0; while [ $i -lt ${8000 + number * 300} ]; do i=$((i+1)); done`, on));
    told(number);
  };
  const read = (name) => new Promise((on) => fs.readFile(name, (_, data) => on(told(`${name} ${data.length}`))));
  const names = [...Array(FOLDERS).keys()].map((one) => `tree/${one}`);
  await Promise.all([...names.map(walk), ...names.map((name) => read(`${name}/SKILL.md`))]);
  await Promise.all([0, 1, 2, 3].map(ran));
  const body = JSON.stringify({ worker: 0, step, after: "", found });
  const answer = await fetch("https://api.example/step", { method: "POST", body });
  console.log(step, found.length, (await answer.json()).ticket);
}

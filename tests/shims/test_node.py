"""The Node shim inside a real boundary, beside the preload: a context draws the same, whichever goes on first."""

from collections.abc import Callable
from typing import Any

import pytest

from hark.repeatable import language_shims
from tests.shims.rig import SEED, installed, shimmed

pytestmark = [
    pytest.mark.attack,
    pytest.mark.skipif(not installed("node"), reason="node is not installed"),
]


def node(program: str, *words: str, languages: bool = True, name: str = "p.mjs", **options: Any) -> str:
    """What a Node program prints. It is written into the project first, by a shell, since a module needs a file."""
    text = program.replace("'", "'\\''")
    result = shimmed(
        *("/bin/bash", "-c", f"printf %s '{text}' >{name}; exec node {name} \"$@\"", "sh", *words),
        languages=languages,
        **options,
    )
    assert result.ended is not None, result.error
    assert result.ended.status == 0, result.err
    return result.out


DRAWS = """
import { randomBytes, randomUUID, randomInt, randomFillSync, randomFill } from 'node:crypto';
import { promisify } from 'node:util';
const print = (...words) => console.log(JSON.stringify(words));
print(randomBytes(9).toString('hex'), randomBytes(9).toString('hex'), randomUUID(), randomInt(2 ** 40));
print(randomInt(5000000, 9000000), Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(3)));
print(randomFillSync(Buffer.alloc(9), 1, 7).toString('hex'), randomFillSync(new Uint16Array(4)));
print((await promisify(randomBytes)(70)).toString('hex'), await promisify(randomInt)(2 ** 40));
print((await promisify(randomFill)(Buffer.alloc(9), 2)).toString('hex'));
"""

TASKS = """
import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
const order = [];
const all = await Promise.all([...Array(50).keys()].map(async (number) => {
  await new Promise((on) => setTimeout(on, (process.argv[2] === 'back' ? 50 - number : number) * 2));
  await fs.readFile('/etc/hosts');
  order.push(number);
  const inner = await Promise.all([1, 2].map(async () => { await null; return randomUUID(); }));
  return [number, randomUUID(), Math.random(), inner];
}));
console.log(JSON.stringify(all));
await fs.writeFile(process.argv[2], order.join());
if (new Set(all.flat(2)).size < 200) throw new Error('the same twice');
"""

WORKERS = """
import { randomUUID } from 'node:crypto';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
if (isMainThread) {
  const waits = process.argv[2] === 'back' ? [80, 60, 40, 20] : [20, 40, 60, 80];
  const workers = waits.map((wait) => new Worker(new URL(import.meta.url), { workerData: wait }));
  console.log(JSON.stringify(await Promise.all(workers.map((one) => new Promise((on) => one.on('message', on))))));
} else {
  await new Promise((on) => setTimeout(on, workerData));
  parentPort.postMessage([randomUUID(), Math.random()]);
}
"""


def test_every_draw_is_the_seeds():
    first = node(DRAWS)
    assert node(DRAWS) == first
    other = node(DRAWS, seed=SEED[::-1])
    assert not set(first.split(",")) & set(other.split(","))
    assert node(DRAWS, languages=False) != first


@pytest.mark.parametrize("program", [TASKS, WORKERS], ids=["tasks", "workers"])
def test_contexts_and_workers_draw_by_who_made_them(program: str):
    assert node(program, "forth") == node(program, "back")


def test_with_the_preload_alone_they_mix():
    assert node(TASKS, "forth", languages=False) != node(TASKS, "back", languages=False)


def test_processes_that_node_starts_draw_apart_and_the_same_again():
    program = """
const { fork } = require('child_process');
if (process.argv[3]) {
  setTimeout(() => process.send([process.argv[3], require('crypto').randomUUID()]), +process.argv[3] * 20);
} else {
  const found = [];
  for (const number of [1, 2, 3]) {
    fork(__filename, [process.argv[2], process.argv[2] === 'back' ? 4 - number : number]).on('message', (m) => {
      found[number] = m[1];
      if (Object.keys(found).length === 3) console.log(found.join());
    });
  }
}
"""
    first = node(program, "forth", name="p.js")
    assert node(program, "back", name="p.js") == first
    assert len(set(first.split(","))) == 4


SHAPES = """
const crypto = require('crypto');
const said = (f) => { try { return String(f()).length; } catch (error) { return error.code + ' ' + error.message; } };
for (const bad of [-1, 'x', null, 1.5, 2 ** 40]) {
  console.log(said(() => crypto.randomBytes(bad)), said(() => crypto.randomInt(bad)), said(() => crypto.randomFillSync(bad)));
}
console.log(said(() => crypto.randomInt(5, 5)), said(() => crypto.randomBytes(4, 5)), said(() => crypto.randomInt(1, 2, 3)));
console.log(said(() => crypto.randomUUID(5)), said(() => crypto.webcrypto.getRandomValues(new Float32Array(2))));
console.log(said(() => crypto.webcrypto.getRandomValues(new Uint8Array(65537))));
console.log(crypto.randomBytes.name, crypto.randomBytes.length, crypto.randomInt.length, Math.random.name, Math.random.length);
console.log(Object.keys(Math).length, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
const counts = [0, 0, 0, 0];
for (let i = 0; i < 4e4; i++) counts[Math.floor(Math.random() * 4)]++;
console.log(counts.every((count) => count > 9500 && count < 10500), Array.from({ length: 300 }, () => crypto.randomInt(3)).every((n) => n < 3));
console.log(require('worker_threads').Worker.name);
"""


def test_types_errors_and_shapes_are_the_librarys_own():
    assert node(SHAPES, name="p.js") == node(SHAPES, name="p.js", languages=False)


def test_what_does_not_work_is_noted_and_the_program_goes_on(monkeypatch: pytest.MonkeyPatch):
    shims = language_shims.files()
    broken = shims[language_shims.NODE_SHIM].replace(b"require('async_hooks')", b"require('no_such_thing')")
    monkeypatch.setattr(language_shims, "files", lambda: shims | {language_shims.NODE_SHIM: broken})
    notes: Callable[..., Any] = lambda boundary: boundary.log.notes()  # noqa: E731
    result = shimmed("node", "-e", "console.log(1)", languages=True, after=notes)
    assert result.out == "1\n"
    ((source, what, why),) = result.found
    assert (source, what) == ("node", "randomness")
    assert "no_such_thing" in why


FILES = """
const fs = require('fs');
const { AsyncLocalStorage } = require('async_hooks');
const { randomUUID } = require('crypto');
const store = new AsyncLocalStorage();
fs.writeFileSync('big', '');
fs.truncateSync('big', 8e6);
fs.writeFileSync('small', 'x');
const order = [];
const told = (number) => () => { order.push(store.getStore() === number ? number : 'lost', randomUUID()); };
const look = (number) => store.run(number, () => new Promise((on) => {
  const how = number % 4;
  const name = number % 5 ? 'small' : 'big';
  const then = (...given) => { told(number)(); Promise.resolve().then(() => order.push('then')).then(on); };
  if (how === 0) fs.readFile(name, then);
  else if (how === 1) fs.promises.readFile(name).then(then);
  else if (how === 2) fs.stat(name, then);
  else fs.promises.readdir('.').then(then);
}));
Promise.all([...Array(40).keys()].map(look)).then(() => console.log(order.join(' ')));
"""


def test_files_that_are_asked_for_side_by_side_are_answered_in_that_order():
    """A large one comes before a small one; the control has no shim."""
    said = node(FILES, name="p.js").split()
    expected = [word for number in range(40) for word in (str(number), "then")]
    assert [word for word in said if "-" not in word] == expected
    assert node(FILES, name="p.js").split() == said
    alone = node(FILES, name="p.js", languages=False).split()
    assert [word for word in alone if "-" not in word] != expected


def test_a_file_that_does_not_come_holds_nobody_for_long():
    program = """
const fs = require('fs');
require('child_process').execSync('mkfifo pipe');
const began = Date.now();
fs.readFile('pipe', () => console.log('pipe'));
fs.readFile('/etc/hosts', () => {
  console.log('hosts');
  fs.stat('/etc/hosts', () => { console.log('stat'); fs.writeFileSync('pipe', 'x'); });
});
"""
    assert node(program, name="p.js") == "hosts\nstat\npipe\n"


def test_errors_of_files_are_the_librarys_own():
    program = """
const fs = require('fs');
const said = (error) => console.log(error.code, error.message, error.syscall, error.constructor.name);
(async () => {
  for (const name of ['readFile', 'stat', 'readdir', 'access', 'opendir', 'readlink', 'realpath']) {
    await new Promise((on) => fs[name]('/no/such', (error) => { said(error); on(); }));
    await fs.promises[name]('/no/such').catch(said);
    try { await fs[name](5, 5, 5); } catch (error) { said(error); }
    await fs.promises[name]({}).catch(said);
    console.log(fs[name].name, fs[name].length, fs.promises[name].name, fs.promises[name].length);
  }
  await new Promise((on) => fs.realpath.native('/bin/../etc', (error, path) => { console.log(error, path); on(); }));
  await new Promise((on) => fs.realpath('/bin/../etc', (error, path) => { console.log(error, path); on(); }));
  console.log(await require('util').promisify(fs.readFile)('/etc/hostname', 'utf8').then((text) => text.length > 0));
  process.once('uncaughtException', (error) => {
    console.log('caught', error.message);
    fs.stat('.', () => console.log('after'));
  });
  fs.stat('.', () => { throw new Error('mine'); });
  fs.stat('.', () => console.log('beside'));
})();
"""
    assert node(program, name="p.js") == node(program, name="p.js", languages=False)

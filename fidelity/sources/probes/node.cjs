// Prints what Node (or Bun) finds in each source, one `name TAB value` a line. Run by what is recorded.
'use strict';
const crypto = require('crypto'), fs = require('fs'), os = require('os');
// Kept in one piece: what is asked of a runtime that ends itself has to be told before that.
const told = [];
function tell(name, value) {
  let found;
  try { found = JSON.stringify(value()); } catch (error) { found = 'ERROR ' + error.message; }
  told.push(`${name}\t${found}\n`);
}
function read(path, count) {
  const file = fs.openSync(path, 'r'), room = Buffer.alloc(count || 64);
  const got = fs.readSync(file, room, 0, room.length, null);
  fs.closeSync(file);
  return room.subarray(0, got).toString('hex');
}
function slept() {
  const before = Date.now();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100);
  const after = Date.now();
  return [after - before >= 1000 && after - before < 30000, after];
}
function listed() {
  fs.mkdirSync('many');
  for (let number = 0; number < 60; number++)
    fs.writeFileSync(`many/${crypto.randomBytes(4).toString('hex')}-${number}`, '');
  const found = [], folder = fs.opendirSync('many');
  for (let entry; (entry = folder.readSync());) found.push(entry.name.split('-')[1]);
  folder.closeSync();
  return found;
}
tell('wall', () => Date.now());
tell('wall.date', () => [new Date().getTime(), Date(), Date.UTC(2020, 1)]);
tell('wall.intl', () => new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' }).format());
tell('monotonic', () => [performance.now(), String(process.hrtime.bigint()), process.hrtime()]);
tell('wall.timeOrigin', () => performance.timeOrigin);
tell('sleep', slept);
tell('chance', () => [Math.random(), Math.random()]);
tell('chance.crypto', () => [crypto.randomBytes(16).toString('hex'), crypto.randomInt(1e9), crypto.randomFillSync(Buffer.alloc(8)).toString('hex')]);
tell('uuid4', () => crypto.randomUUID());
tell('chance.web', () => [globalThis.crypto.randomUUID(), [...globalThis.crypto.getRandomValues(new Uint8Array(8))]]);
tell('chance.keys', () => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }).x);
tell('names', () => fs.mkdtempSync('name-'));
tell('pid', () => [process.pid, process.ppid]);
tell('user', () => [os.userInfo().uid, os.homedir(), process.cwd()]);
tell('host', () => os.hostname());
tell('folder', listed);
tell('file times', () => { fs.writeFileSync('made', ''); return fs.statSync('made').mtimeMs; });
tell('locale', () => [Intl.DateTimeFormat().resolvedOptions().locale, (1.5).toLocaleString()]);
tell('zone', () => [Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(0).getTimezoneOffset()]);
tell('terminal', () => [process.stdout.columns || null, process.env.COLUMNS || null]);
tell('environment', () => Object.entries(process.env).sort());
tell('cpus', () => [os.cpus().length, os.availableParallelism ? os.availableParallelism() : null]);
tell('/dev/random', () => read('/dev/random'));
tell('/dev/urandom', () => read('/dev/urandom'));
tell('proc uuid', () => read('/proc/sys/kernel/random/uuid'));
tell('boot_id', () => read('/proc/sys/kernel/random/boot_id'));
tell('machine-id', () => read('/etc/machine-id'));
fs.writeSync(1, told.join(''));

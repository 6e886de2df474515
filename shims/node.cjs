// Randomness of a Node agent from the run's seed, by the asynchronous context that asks, so that a replay draws the same
// again (NODE_OPTIONS=--require).
//
// Always: a draw depends on the seed, on the process or worker, on the asynchronous context in it, and on how often that
// context has drawn. A context is numbered by the one in which it was made, each kind for itself, so that tasks that go on
// in another order (files, names and compression come back from threads) get what they got. Types, errors and times are the
// library's own: it is asked first, and its bytes are written over. Without a page of the run nothing is changed, and
// whatever goes wrong here is said in the run's log and goes no further.
//
// Files that are asked for side by side are answered in the order in which they were asked for, since threads look for them
// and come back in any. One that takes longer than a second (a pipe that nobody writes to) holds nobody any more.
//
// Where a fork goes live the run has another seed, and every later draw is mixed with that; Math.random begins anew. That
// is looked up again by whoever draws and has not drawn for a fifth of a millisecond: nothing reaches an agent sooner.
//
// Not reached: keys that OpenSSL makes for itself (generateKeyPair, subtle.generateKey, TLS), which draw by thread from
// the preloaded library; Math of another `vm` context; the order in which streams and open files are read. Clocks are that
// library's alone. The syntax is that of Node 8.
'use strict';

(function () {
  const fs = require('fs');
  const PLACE = '/run/hark/shim/';
  const SEEDED = 1;
  const NOTES = 64; // see `struct log` of preload/ground.h
  const NOTE_BYTES = 256;
  const KEY = 'hark.randomness';
  const STALE_MS = 0.2;
  const PATIENCE_MS = 1000;
  // What looks once for something by its path: none of these is made of others of them.
  const BY_PATH = [
    ...['access', 'chmod', 'copyFile', 'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'opendir', 'readFile', 'readdir'],
    ...['readlink', 'rename', 'rmdir', 'stat', 'statfs', 'symlink', 'unlink', 'utimes', 'writeFile'],
  ];

  function note(what, why) {
    try {
      const text = Buffer.from(`node\0${what}\0${why}`).subarray(0, NOTE_BYTES - 1);
      const log = fs.openSync(PLACE + 'log', 'r+');
      try {
        const start = fs.fstatSync(log).size - NOTES * NOTE_BYTES;
        const found = Buffer.alloc(NOTE_BYTES);
        for (let number = 0; start >= 0 && number < NOTES; number++) {
          fs.readSync(log, found, 0, NOTE_BYTES, start + number * NOTE_BYTES);
          if (found.subarray(0, text.length).equals(text) && found[text.length] === 0) return;
          if (found[0] !== 0) continue;
          fs.writeSync(log, text, 0, text.length, start + number * NOTE_BYTES);
          return;
        }
      } finally {
        fs.closeSync(log);
      }
    } catch (error) {
      // there is no log: nobody is told
    }
  }

  function readSeed() {
    let page;
    try {
      const file = fs.openSync(PLACE + 'page', 'r');
      page = Buffer.alloc(4096);
      fs.readSync(file, page, 0, 4096, 0);
      fs.closeSync(file);
    } catch (error) {
      return null;
    }
    if (page.toString('latin1', 0, 8) !== 'HARKPG1\0' || !(page.readUInt32LE(24) & SEEDED)) return null;
    const at = 32 + 32 * page.readUInt32LE(28);
    return words(page.subarray(at, at + 32));
  }

  function words(bytes) {
    return Uint32Array.from({ length: bytes.length / 4 }, (_, number) => bytes.readUInt32LE(4 * number));
  }

  // One block of ChaCha20 (RFC 8439, 2.3), as 16 words.
  const block = new Uint32Array(16);
  const start = new Uint32Array(16);
  function chacha(key, counter, n0, n1, n2) {
    start[0] = 0x61707865;
    start[1] = 0x3320646e;
    start[2] = 0x79622d32;
    start[3] = 0x6b206574;
    for (let i = 0; i < 8; i++) start[4 + i] = key[i];
    start[12] = counter;
    start[13] = n0;
    start[14] = n1;
    start[15] = n2;
    block.set(start);
    for (let round = 0; round < 10; round++) {
      quarter(block, 0, 4, 8, 12);
      quarter(block, 1, 5, 9, 13);
      quarter(block, 2, 6, 10, 14);
      quarter(block, 3, 7, 11, 15);
      quarter(block, 0, 5, 10, 15);
      quarter(block, 1, 6, 11, 12);
      quarter(block, 2, 7, 8, 13);
      quarter(block, 3, 4, 9, 14);
    }
    for (let i = 0; i < 16; i++) block[i] += start[i];
    return block;
  }

  function quarter(x, a, b, c, d) {
    let t;
    x[a] += x[b];
    t = x[d] ^ x[a];
    x[d] = (t << 16) | (t >>> 16);
    x[c] += x[d];
    t = x[b] ^ x[c];
    x[b] = (t << 12) | (t >>> 20);
    x[a] += x[b];
    t = x[d] ^ x[a];
    x[d] = (t << 8) | (t >>> 24);
    x[c] += x[d];
    t = x[b] ^ x[c];
    x[b] = (t << 7) | (t >>> 25);
  }

  // The key of this process or worker: from whoever made the worker, from the preloaded library, which knows how a process
  // came to be, or from the process's number.
  function origin(seed) {
    const threads = require('worker_threads');
    const given = threads.isMainThread ? undefined : threads.getEnvironmentData(KEY);
    if (given) return Uint32Array.from(given);
    if (fs.readFileSync('/proc/self/maps', 'latin1').includes(PLACE + 'preload.so')) {
      const device = fs.openSync('/dev/urandom', 'r');
      const bytes = Buffer.alloc(32);
      fs.readSync(device, bytes, 0, 32, null);
      fs.closeSync(device);
      return words(bytes);
    }
    return chacha(seed, process.pid, threads.threadId, 0, 1).slice(0, 8);
  }

  function install(seed) {
    const hooks = require('async_hooks');
    const { performance } = require('perf_hooks');
    const crypto = require('crypto');
    const threads = require('worker_threads');
    const base = origin(seed);
    const CONTEXT = Symbol('hark');
    const current_resource = hooks.executionAsyncResource;

    class Context {
      constructor(a, b, c, d) {
        this.a = a;
        this.b = b;
        this.c = c;
        this.d = d;
        this.draws = 0;
        this.promises = 0; // made in it: by far the most of its children
        this.children = null; // by kind, but promises
        this.key = null;
        this.epoch = 0; // that `key` and `state` are of
        this.state = null; // of Math.random
      }
    }
    const root = new Context(0, 0, 0, 0);

    // Names of kinds as numbers that do not depend on which came first (FNV-1a).
    const kinds = new Map();
    function kind_of(type) {
      let kind = kinds.get(type);
      if (kind === undefined) {
        kind = 0x811c9dc5;
        for (let i = 0; i < type.length; i++) kind = Math.imul(kind ^ type.charCodeAt(i), 0x01000193);
        kinds.set(type, kind);
      }
      return kind;
    }

    const PROMISE = kind_of('PROMISE');

    // Four words that depend on the parent's, the kind and the number: ChaCha's quarter round, with the parent's added.
    function child(parent, type) {
      let number;
      let kind;
      if (type === 'PROMISE') {
        number = parent.promises++;
        kind = PROMISE;
      } else {
        const children = parent.children || (parent.children = new Map());
        number = children.get(type) || 0;
        children.set(type, number + 1);
        kind = kind_of(type);
      }
      let a = parent.a ^ kind;
      let b = parent.b ^ number;
      let c = parent.c ^ 0x9e3779b9;
      let d = parent.d;
      for (let round = 0; round < 4; round++) {
        a = (a + b) | 0;
        d ^= a;
        d = (d << 16) | (d >>> 16);
        c = (c + d) | 0;
        b ^= c;
        b = (b << 12) | (b >>> 20);
        a = (a + b) | 0;
        d ^= a;
        d = (d << 8) | (d >>> 24);
        c = (c + d) | 0;
        b ^= c;
        b = (b << 7) | (b >>> 25);
      }
      return new Context((a + parent.a) | 0, (b + parent.b) | 0, (c + parent.c) | 0, (d + parent.d) | 0);
    }

    function current() {
      return current_resource()[CONTEXT] || root;
    }

    hooks
      .createHook({
        init(_id, type, _trigger, resource) {
          if (resource) resource[CONTEXT] = child(current_resource()[CONTEXT] || root, type);
        },
      })
      .enable();

    // Which seed draws come from, and its words: a worker and a new process begin in whichever epoch it is.
    let page = -1;
    let epoch = 0;
    let fresh = null;
    let looked = -Infinity;
    const number_of = new Uint32Array(1);
    const now = performance.now.bind(performance);
    try {
      page = fs.openSync(PLACE + 'page', 'r');
    } catch (error) {
      note('epoch', error.message);
    }
    const readSync = fs.readSync;
    function look() {
      const time = now();
      if (time - looked < STALE_MS || page < 0) return;
      looked = time;
      readSync(page, number_of, 0, 4, 28);
      if (number_of[0] === epoch) return;
      epoch = number_of[0];
      fresh = readSeed();
    }

    function key_of(context) {
      look();
      if (context.key === null || context.epoch !== epoch) {
        let key = chacha(base, context.d, context.a, context.b, context.c).slice(0, 8);
        if (epoch !== 0) {
          // Both halves of the seed, each by a block that is one-way in the key.
          key = chacha(key, fresh[0], fresh[1], fresh[2], fresh[3]).slice(0, 8);
          key = chacha(key, fresh[4], fresh[5], fresh[6], fresh[7]).slice(0, 8);
        }
        context.key = key;
        context.epoch = epoch;
        context.state = null;
      }
      return context.key;
    }

    function fill(bytes, context, number) {
      const key = key_of(context);
      for (let at = 0, counter = 0; at < bytes.length; counter++) {
        const drawn = chacha(key, counter, number, 0, 0);
        for (let i = 0; i < 64 && at < bytes.length; i++, at++) bytes[at] = drawn[i >> 2] >>> ((i & 3) << 3);
      }
      return bytes;
    }

    function draw(bytes) {
      const context = current();
      return fill(bytes, context, context.draws++);
    }

    const bytes_of = (view) =>
      view instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && view instanceof SharedArrayBuffer)
        ? new Uint8Array(view)
        : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

    function part_of(view, offset, size) {
      const one = view.BYTES_PER_ELEMENT || 1;
      const all = bytes_of(view);
      const begin = offset === undefined ? 0 : offset * one;
      return all.subarray(begin, size === undefined ? all.length : begin + size * one);
    }

    const plain = {};
    function replace(object, name, made) {
      const descriptor = Object.getOwnPropertyDescriptor(object, name);
      if (descriptor === undefined || typeof object[name] !== 'function') return;
      plain[name] = plain[name] || object[name];
      const function_of = made(object[name]);
      Object.defineProperty(function_of, 'name', { value: object[name].name, configurable: true });
      Object.defineProperty(function_of, 'length', { value: object[name].length, configurable: true });
      if (descriptor.writable || descriptor.configurable) {
        const shape = { value: function_of, writable: true, configurable: true, enumerable: descriptor.enumerable };
        Object.defineProperty(object, name, shape);
      }
    }

    const random_bytes = (original) => {
      const randomBytes = (size, callback) => {
        if (callback === undefined) return draw(original(size));
        if (typeof callback !== 'function') return original(size, callback);
        const context = current();
        const number = context.draws++;
        return original(size, (error, bytes) => {
          if (!error) fill(bytes, context, number);
          callback(error, bytes);
        });
      };
      return randomBytes;
    };
    for (const name of ['randomBytes', 'pseudoRandomBytes', 'prng', 'rng']) replace(crypto, name, random_bytes);

    replace(crypto, 'randomFillSync', (original) => (view, offset, size) => {
      const filled = original(view, offset, size);
      draw(part_of(view, offset, size));
      return filled;
    });
    replace(crypto, 'randomFill', (original) => (view, offset, size, callback) => {
      const context = current();
      const number = context.draws++;
      const given = [offset, size, callback].filter((one) => one !== undefined);
      const last = given.length - 1;
      if (typeof given[last] !== 'function') return original(view, offset, size, callback);
      const [from, count] = given.slice(0, last);
      const then = given[last];
      return original(view, ...given.slice(0, last), (error, filled) => {
        if (!error) fill(part_of(view, from, count), context, number);
        then(error, filled);
      });
    });

    // As the library does it: 48 bits, and those beyond the last whole range again.
    replace(crypto, 'randomInt', (original) => (min, max, callback) => {
      const alone = max === undefined || typeof max === 'function';
      const then = alone ? max : callback;
      if (then !== undefined && typeof then !== 'function') return original(min, max, callback);
      const [low, high] = alone ? [0, min] : [min, max];
      original(low, high); // it refuses what is no range
      const range = high - low;
      const limit = 0xffffffffffff - (0xffffffffffff % range);
      let value;
      do value = Buffer.from(draw(Buffer.alloc(6))).readUIntBE(0, 6);
      while (value >= limit);
      value = (value % range) + low;
      if (then === undefined) return value;
      process.nextTick(then, undefined, value);
      return undefined;
    });

    const random_uuid = (original) =>
      function (options) {
        original.call(this, options);
        const bytes = draw(Buffer.alloc(16));
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        const text = bytes.toString('hex');
        return [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]].map((part) => text.slice(part[0], part[1])).join('-');
      };
    const random_values = (original) =>
      function (view) {
        const filled = original.call(this, view);
        draw(bytes_of(view));
        return filled;
      };
    replace(crypto, 'randomUUID', random_uuid);
    replace(crypto, 'getRandomValues', random_values);
    const web = crypto.webcrypto && Object.getPrototypeOf(crypto.webcrypto);
    if (web) {
      replace(web, 'getRandomValues', random_values);
      replace(web, 'randomUUID', random_uuid);
    }

    // xoshiro128** (Blackman, Vigna), two words a number: 53 bits, uniform, as many as a number holds.
    const next = (s) => {
      const five = Math.imul(s[1], 5);
      const word = Math.imul((five << 7) | (five >>> 25), 9) >>> 0;
      const shifted = s[1] << 9;
      s[2] ^= s[0];
      s[3] ^= s[1];
      s[1] ^= s[2];
      s[0] ^= s[3];
      s[2] ^= shifted;
      s[3] = (s[3] << 11) | (s[3] >>> 21);
      return word;
    };
    const made = {
      random() {
        const context = current();
        const key = key_of(context);
        let state = context.state;
        if (state === null) state = context.state = Int32Array.from(chacha(key, 0, 0, 0, 1).slice(0, 4));
        return ((next(state) >>> 5) * 67108864 + (next(state) >>> 6)) / 9007199254740992;
      },
    };
    Object.defineProperty(Math, 'random', { value: made.random, writable: true, configurable: true, enumerable: false });

    const Plain = threads.Worker;
    class Worker extends Plain {
      constructor(...given) {
        const context = child(current(), 'worker');
        const before = threads.getEnvironmentData(KEY);
        threads.setEnvironmentData(KEY, Array.from(key_of(context)));
        try {
          super(...given);
        } finally {
          threads.setEnvironmentData(KEY, before);
        }
      }
    }
    threads.Worker = Worker;

    // Nothing of this counts as a child of the agent's own contexts, nor as a draw.
    const asked = new Set();
    const aside = new hooks.AsyncResource('hark');
    aside[CONTEXT] = new Context(0, 0, 0, 1);
    let watched = false;
    let due = false;

    const first_asked = () => asked.values().next().value;

    function ask() {
      const entry = { ready: null, left: false, since: now() };
      asked.add(entry);
      return entry;
    }

    // `run` is to be called in a turn of the event loop of its own, as each answer of the library's is.
    function answer(entry, run) {
      if (entry.left) return run();
      if (entry === first_asked() && !due) {
        asked.delete(entry);
        go_on();
        return run();
      }
      entry.ready = run;
      watch();
      return undefined;
    }

    function go_on() {
      const next = first_asked();
      if (due || next === undefined || next.ready === null) return;
      due = true;
      aside.runInAsyncScope(setImmediate, null, () => {
        due = false;
        asked.delete(next);
        go_on();
        next.ready();
      });
    }

    function watch() {
      if (watched) return;
      watched = true;
      const timer = aside.runInAsyncScope(setTimeout, null, look_for_late, PATIENCE_MS);
      timer.unref();
    }

    function look_for_late() {
      watched = false;
      const time = now();
      for (const entry of asked) {
        if (entry.ready !== null || time - entry.since < PATIENCE_MS) break;
        entry.left = true;
        asked.delete(entry);
      }
      go_on();
      if (asked.size) watch();
    }

    const by_callback = (original) =>
      function (...given) {
        const then = given[given.length - 1];
        if (typeof then !== 'function') return original.apply(this, given);
        const entry = ask();
        given[given.length - 1] = function (...found) {
          if (entry.left || (entry === first_asked() && !due)) return answer(entry, () => then.apply(this, found));
          const resource = new hooks.AsyncResource('hark');
          resource[CONTEXT] = current();
          return answer(entry, () => resource.runInAsyncScope(then, this, ...found));
        };
        try {
          return original.apply(this, given);
        } catch (error) {
          asked.delete(entry);
          go_on();
          throw error;
        }
      };

    const by_promise = (original) =>
      function (...given) {
        const context = current();
        const found = original.apply(this, given);
        if (!(found instanceof Promise)) return found;
        const { promises } = context;
        const entry = ask();
        const answered = new Promise((resolve, reject) => {
          found.then(
            (value) => answer(entry, () => resolve(value)),
            (error) => answer(entry, () => reject(error)),
          );
        });
        context.promises = promises;
        answered[CONTEXT] = found[CONTEXT];
        return answered;
      };

    for (const name of BY_PATH) {
      replace(fs, name, by_callback);
      if (fs.promises) replace(fs.promises, name, by_promise);
    }
    if (fs.promises) replace(fs.promises, 'realpath', by_promise);
    replace(fs.realpath, 'native', by_callback);
    require('module').syncBuiltinESMExports();
  }

  const seed = readSeed();
  if (seed === null) return;
  try {
    install(seed);
  } catch (error) {
    note('randomness', `Node ${process.version}: ${error && error.message}`);
  }
})();

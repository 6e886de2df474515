"""The programs whose system calls the filter's allow-list comes from, and what each is made to do.

Every script runs in an empty directory of its own, without hark and without a network. One that ends with an
error has been traced all the same: a client without its server shows what it does until it gives up.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Program:
    """One named program."""

    name: str
    needs: tuple[str, ...]
    """Commands that must be on PATH."""
    script: str
    """For /bin/sh."""
    quick: bool = False
    """Takes a few seconds, and comes with what the tests need: traced afresh by the tests."""
    ordinary: bool = False
    """Must not be root: its sandbox would be another."""


_PYTHON: Final = """cat > p.py <<'END'
import asyncio, concurrent.futures, ctypes, fcntl, getpass, grp, hashlib, json, locale, logging, mmap
import multiprocessing, multiprocessing.shared_memory, os, platform, pwd, queue, random, resource, sched, secrets
import select, selectors, shutil, signal, socket, sqlite3, ssl, subprocess, sys, tempfile, termios, threading, time, uuid
def work(n): return n * n
def serve(s):
    c, _ = s.accept(); c.sendall(c.recv(64)); c.close()
async def main():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname()); await r.read(); w.close(); server.close()
    p = await asyncio.create_subprocess_exec("true"); await p.wait()
    await asyncio.to_thread(time.sleep, 0.01)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.sleep(0.01)
if __name__ == "__main__":
    asyncio.run(main())
    with concurrent.futures.ThreadPoolExecutor(4) as pool: list(pool.map(work, range(9)))
    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool: pool.map(work, range(4))
    m = multiprocessing.shared_memory.SharedMemory(create=True, size=64); m.close(); m.unlink()
    lock = multiprocessing.Lock(); lock.acquire(timeout=0.1)
    db = sqlite3.connect("x.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t (x)")
    db.execute("insert into t values (1)"); db.commit(); db.close()
    ssl.create_default_context()
    for family in (socket.AF_INET, socket.AF_UNIX):
        s = socket.socket(family); s.bind(("127.0.0.1", 0) if family == socket.AF_INET else "s"); s.listen()
        t = threading.Thread(target=serve, args=(s,)); t.start()
        c = socket.socket(family); c.connect(s.getsockname()); c.sendall(b"x"); c.recv(1); t.join()
    socket.getaddrinfo("localhost", 80); socket.if_nameindex()
    a, b = socket.socketpair(); socket.send_fds(a, [b"x"], [0]); socket.recv_fds(b, 9, 1)
    for kind in (select.epoll, select.poll): kind().register(a)
    select.select([], [a], []); selectors.DefaultSelector().close()
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/f", "w+b") as f:
            f.write(b"x" * 9999); f.flush(); os.fsync(f.fileno()); f.truncate(5); fcntl.flock(f, fcntl.LOCK_EX)
            fcntl.lockf(f, fcntl.LOCK_UN); mmap.mmap(f.fileno(), 5).close(); os.sendfile(a.fileno(), f.fileno(), 0, 5)
            os.copy_file_range(f.fileno(), os.open(d + "/g", os.O_CREAT | os.O_RDWR), 5); os.posix_fallocate(f.fileno(), 0, 9)
            os.pwritev(f.fileno(), [b"y"], 0); os.preadv(f.fileno(), [bytearray(1)], 0); os.posix_fadvise(f.fileno(), 0, 0, 0)
        shutil.copy2(d + "/f", d + "/h"); os.link(d + "/h", d + "/i"); os.symlink("i", d + "/j"); os.readlink(d + "/j")
        os.rename(d + "/i", d + "/k"); os.utime(d + "/k"); os.chmod(d + "/k", 0o600); os.listxattr(d + "/k")
        os.mkfifo(d + "/p"); os.statvfs(d); list(os.scandir(d)); list(os.walk(d)); os.truncate(d + "/k", 1)
    os.sched_getaffinity(0); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.getloadavg(); os.nice(0); os.getpriority(0, 0)
    resource.getrusage(0); resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.urandom(8); uuid.uuid1(); platform.platform()
    signal.setitimer(signal.ITIMER_REAL, 0.01); signal.signal(signal.SIGALRM, lambda *a: None); signal.pause()
    signal.alarm(0); signal.sigtimedwait([signal.SIGUSR2], 0.01); signal.pthread_kill(threading.get_ident(), 0)
    os.pipe2(0); os.openpty(); os.eventfd(0); os.getsid(0); os.getpgid(0); os.getgroups(); os.getresuid(); os.times()
    subprocess.run(["sh", "-c", "exit 3"], start_new_session=True); subprocess.run("true", preexec_fn=os.getpid)
    os.posix_spawn("/bin/true", ["true"], {}); os.wait(); pwd.getpwuid(os.getuid()); os.umask(os.umask(0))
    hashlib.scrypt(b"x", salt=b"y", n=2, r=1, p=1); time.sleep(0.01); os.sync()
END
python3 p.py; python3 -m venv v; v/bin/python -c 'import json'
"""

_NODE: Final = """cat > n.mjs <<'END'
import { Worker, isMainThread } from 'worker_threads'; import http from 'http'; import fs from 'fs/promises';
import { watch, createReadStream } from 'fs'; import { spawn, spawnSync, fork } from 'child_process';
import crypto from 'crypto'; import os from 'os'; import dns from 'dns/promises'; import net from 'net'; import zlib from 'zlib';
import dgram from 'dgram'; import cluster from 'cluster';
if (isMainThread && !process.send) {
  const w = new Worker(new URL(import.meta.url)); await new Promise(r => w.on('exit', r));
  const s = http.createServer((q, a) => a.end('x')).listen(0, '127.0.0.1'); await new Promise(r => s.on('listening', r));
  await (await fetch(`http://127.0.0.1:${s.address().port}`)).text(); s.close();
  const u = net.createServer(c => c.end()).listen('./sock'); await new Promise(r => u.on('listening', r)); u.close();
  await fs.writeFile('f', 'x'); await fs.copyFile('f', 'g'); await fs.rename('g', 'h'); await fs.mkdir('a/b', {recursive: true});
  await fs.symlink('f', 'l'); await fs.realpath('l'); await fs.utimes('f', 1, 1); await fs.chmod('f', 0o600); await fs.readdir('.');
  await fs.cp('a', 'c', {recursive: true}); const x = watch('.'); await fs.writeFile('z', ''); x.close(); await fs.rm('a', {recursive: true});
  const h = await fs.open('f', 'r+'); await h.sync(); await h.truncate(1); await h.close(); createReadStream('f').resume();
  spawnSync('true'); await new Promise(r => spawn('sh', ['-c', 'echo x']).on('exit', r)); fork(new URL(import.meta.url).pathname);
  crypto.scryptSync('a', 'b', 8); crypto.generateKeyPairSync('ed25519'); os.networkInterfaces(); os.cpus(); os.userInfo();
  await dns.lookup('localhost'); zlib.gzipSync('x'); const d = dgram.createSocket('udp4'); d.bind(0, () => d.close());
}
END
node n.mjs; mkdir -p dep && echo '{"name":"dep","version":"1.0.0","scripts":{"install":"node -e 1"}}' > dep/package.json
npm init -y; npm install --offline --no-audit ./dep; npm install --fetch-retries=0 left-pad
"""

_BUN: Final = """cat > b.ts <<'END'
import { Database } from 'bun:sqlite'; import { Worker } from 'worker_threads';
const s = Bun.serve({ port: 0, fetch: () => new Response('x') }); await (await fetch(s.url)).text(); s.stop(true);
const d = new Database('x.db'); d.exec('pragma journal_mode=wal; create table t (x)'); d.close();
await Bun.write('f', 'x'.repeat(99999)); await Bun.write('g', Bun.file('f')); await Bun.spawn(['true']).exited;
await Bun.$`echo hi | cat > h`; await Bun.password.hash('x'); new Worker(new URL('data:text/javascript,1')); await Bun.sleep(50);
process.exit(0);
END
bun run b.ts; echo '{"dependencies":{}}' > package.json; bun install; bun build --target bun b.ts --outfile o.js
echo 'import {test} from "bun:test"; test("x", () => {})' > a.test.ts; bun test
"""

_JAVA: Final = """cat > J.java <<'END'
import java.net.*; import java.net.http.*; import java.nio.file.*; import java.util.*; import java.util.concurrent.*;
public class J { public static void main(String[] a) throws Exception {
  var pool = Executors.newFixedThreadPool(4); for (int i = 0; i < 9; i++) pool.submit(() -> { Thread.sleep(2); return 0; }); pool.shutdown();
  var server = com.sun.net.httpserver.HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
  server.createContext("/", x -> { x.sendResponseHeaders(200, 0); x.close(); }); server.start();
  HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.getAddress().getPort())).build(), HttpResponse.BodyHandlers.ofString());
  server.stop(0); new ProcessBuilder("true").start().waitFor(); Files.writeString(Path.of("f"), "x"); Files.copy(Path.of("f"), Path.of("g"));
  try (var c = java.nio.channels.FileChannel.open(Path.of("f"), StandardOpenOption.READ, StandardOpenOption.WRITE)) { c.lock(); c.map(java.nio.channels.FileChannel.MapMode.READ_WRITE, 0, 99); c.force(true); }
  FileSystems.getDefault().newWatchService().close(); Files.walk(Path.of(".")).count(); NetworkInterface.getNetworkInterfaces(); InetAddress.getByName("localhost");
  new java.security.SecureRandom().nextInt(); System.gc(); Files.delete(Path.of("g")); System.exit(0); } }
END
javac J.java; java J; java -XX:+UseZGC J; java -Xint J
"""

_GO: Final = """mkdir m && cd m && cat > go.mod <<'END'
module m
go 1.19
END
cat > main.go <<'END'
package main
import ("fmt"; "io"; "net"; "net/http"; "net/http/httptest"; "os"; "os/exec"; "os/signal"; "sync"; "time")
func main() {
  var w sync.WaitGroup; for i := 0; i < 50; i++ { w.Add(1); go func() { time.Sleep(time.Millisecond); w.Done() }() }; w.Wait()
  s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") }))
  r, _ := http.Get(s.URL); io.ReadAll(r.Body); s.Close(); exec.Command("true").Run(); net.LookupHost("localhost"); net.Interfaces()
  os.WriteFile("f", []byte("x"), 0600); f, _ := os.Open("f"); g, _ := os.Create("g"); io.Copy(g, f); g.Sync(); os.ReadDir("."); os.RemoveAll("g")
  c := make(chan os.Signal, 1); signal.Notify(c, os.Interrupt); fmt.Println(os.Hostname()) }
END
cat > m_test.go <<'END'
package main
import "testing"
func TestX(t *testing.T) { t.TempDir() }
END
export GOCACHE=$PWD/.c GOPATH=$PWD/.g HOME=$PWD GOFLAGS=-mod=mod GOPROXY=off; go build -o m . && ./m; go vet .; go test .
"""

_RUST: Final = """cargo init --vcs none --name r . && cat > src/main.rs <<'END'
use std::{fs, io::{Read, Write}, net::*, process::Command, sync::mpsc, thread, time::Duration};
fn main() {
  let (t, r) = mpsc::channel(); for i in 0..4 { let t = t.clone(); thread::spawn(move || { thread::sleep(Duration::from_millis(2)); t.send(i).unwrap() }); } drop(t);
  println!("{}", r.iter().sum::<i32>());
  let l = TcpListener::bind("127.0.0.1:0").unwrap(); let a = l.local_addr().unwrap();
  let h = thread::spawn(move || { l.accept().unwrap().0.write_all(b"x").unwrap() });
  let mut s = String::new(); TcpStream::connect_timeout(&a, Duration::from_secs(1)).unwrap().read_to_string(&mut s).unwrap(); h.join().unwrap();
  Command::new("true").status().unwrap(); fs::write("f", "x").unwrap(); fs::copy("f", "g").unwrap(); fs::create_dir_all("a/b").unwrap(); fs::remove_dir_all("a").unwrap();
  for e in fs::read_dir(".").unwrap() { e.unwrap().metadata().unwrap(); } let _ = UdpSocket::bind("127.0.0.1:0"); }
#[test] fn x() {}
END
cargo --offline build; cargo --offline run; cargo --offline test
"""

_GIT: Final = """export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$PWD
git init r; cd r; echo x > f; git add .; git commit -m x; git branch b; echo y >> f; git diff | cat; git stash; git stash pop; git commit -am y
git checkout b; echo z > g; git add g; git commit -m z; git merge --no-edit master; git merge --no-edit main; git rebase HEAD~1; git log --stat | cat
git worktree add ../w; git clone . ../c; git gc; git fsck; git status; git grep x; git blame f | cat; git clean -fdx; git bisect start; git submodule status
git clone http://127.0.0.1:9/x ../d; git fetch ssh://127.0.0.1/x
"""

_MAKE: Final = """cat > x.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *f(void *x) { return x; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("x"); return 0; }
END
printf 'all: x y\\nx: x.c\\n\\tgcc -g -O2 -flto -pthread x.c -o x\\ny: x.c\\n\\tgcc -c x.c -o y.o; ar rcs y.a y.o; strip -o y x\\n' > Makefile
make -j4; ./x; ./y; make -j4; gcc -static -pthread x.c -o s && ./s; ldd x; objdump -d x | head -3; nm y.a
"""

_SHELL: Final = """for n in 1 2 3; do echo $n; done | sort -r | uniq | tail -1 > f; (sleep 0.01 & wait); ls -laR --color=always / 2>/dev/null | head -99 > g
cp -a f h; mv h i; ln -s i j; ln i k; cat f | tee l | wc; tar czf t.tgz f g; tar xzf t.tgz; gzip -k f; xz -k g; find . -name '*g*' -exec stat {} +; grep -rn x .
sed -i s/1/2/ f; awk '{print $1}' f; diff f g; dd if=/dev/zero of=z bs=1k count=9 conv=fsync; truncate -s 5 z; touch -d yesterday z; chmod 600 z; df .; du -s .; ps ax
date; id; uname -a; env; nproc; free; uptime; timeout 1 true; nice true; nohup true; setsid true; stdbuf -o0 true; xargs -P2 -n1 true < f; mktemp; mkfifo q; sync f; rm -rf t.tgz
bash -c 'set -m; sleep 0.01 & jobs; fg; cat < <(echo x); read -t 0.01; exec 3<>/dev/tcp/127.0.0.1/9; ulimit -a; trap : USR1; kill -USR1 $$; coproc cat; kill %1'
curl -s http://127.0.0.1:9/; ssh-keygen -q -t ed25519 -N '' -f key; ssh -o BatchMode=yes 127.0.0.1 true; flock z true; script -qc true /dev/null; perl -e 'print 1'; openssl version; sha256sum f
"""

_CHROMIUM: Final = """export HOME=$PWD; for f in FLAGS; do
timeout 60 chromium --headless --disable-gpu $f --user-data-dir=$PWD/u --screenshot=$PWD/s.png --virtual-time-budget=500 \\
  'data:text/html,<canvas></canvas><script>fetch("http://127.0.0.1:9").catch(e=>1);new Worker("data:text/javascript,1");localStorage</script>'
timeout 60 chromium --headless --disable-gpu $f --user-data-dir=$PWD/u --dump-dom about:blank; done
"""

_AGENT: Final = """export HOME=$PWD; git init -q .; cat > stub.py <<'END'
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0))); self.send_response(400); self.send_header("content-length", "2"); self.end_headers(); self.wfile.write(b"{}")
    do_GET = do_POST = do_HEAD = answer
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H); open("port", "w").write(str(s.server_port)); s.serve_forever()
END
python3 stub.py 2>/dev/null & stub=$!; while [ ! -s port ]; do sleep 0.05; done; url=http://127.0.0.1:$(cat port)
RUN
kill $stub
"""

PROGRAMS: Final = (
    Program("python", ("python3",), _PYTHON, quick=True),
    Program("node", ("node", "npm"), _NODE),
    Program("bun", ("bun",), _BUN),
    Program("java", ("java", "javac"), _JAVA),
    Program("go", ("go",), _GO),
    Program("cargo", ("cargo",), _RUST),
    Program("git", ("git",), _GIT, quick=True),
    Program("make", ("make", "gcc"), _MAKE, quick=True),
    Program("shell", ("bash", "tar"), _SHELL, quick=True),
    Program("debuggers", ("gdb", "strace"), "gdb -batch -ex run -ex bt /bin/true; echo | gdb -batch -p $$"),
    Program("chromium", ("chromium",), _CHROMIUM.replace("FLAGS", "--no-sandbox")),
    Program(
        "chromium-sandbox",
        ("chromium",),
        _CHROMIUM.replace("FLAGS", "--disable-dev-shm-usage"),
        ordinary=True,
    ),
    Program(
        "bubblewrap",
        ("bwrap",),
        "for o in '' '--unshare-net --unshare-ipc --unshare-uts --hostname x --new-session'; do "
        "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-pid --unshare-user --die-with-parent $o true; done",
        ordinary=True,
    ),
    Program(
        "claude-code",
        ("claude",),
        _AGENT.replace(
            "RUN",
            "claude --version; ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=x timeout 40 claude -p hi < /dev/null",
        ),
    ),
    Program(
        "codex",
        ("codex",),
        _AGENT.replace(
            "RUN",
            "codex --version; OPENAI_API_KEY=x timeout 40 codex exec -c model_providers.s.name=s -c model_providers.s.base_url=$url/v1 "
            "-c model_provider=s hi < /dev/null",
        ),
    ),
    Program(
        "codex-sandbox", ("codex",), "export HOME=$PWD; codex sandbox -- sh -c 'echo x > f'", ordinary=True
    ),
    Program(
        "gemini",
        ("gemini",),
        _AGENT.replace(
            "RUN",
            "gemini --version; GOOGLE_GEMINI_BASE_URL=$url GEMINI_API_KEY=x timeout 40 gemini -p hi < /dev/null",
        ),
    ),
)
NESTING: Final = ("chromium-sandbox", "bubblewrap", "codex-sandbox")
"""Programs that make namespaces: what only they call is allowed where the policy lets sandboxes nest."""

"""Randomness of a Python agent from the run's seed, by who asks for it, so that a replay draws the same again.

Always: a draw depends on the seed and on who draws: the process, the thread, the asyncio task, by the order in
which each was made by the one that made it, and on how often it has drawn. No two share a counter, so threads and
tasks that run in another order get what they got. Types, distributions and errors are the library's own. Without a
page of the run nothing is changed, and whatever goes wrong here is said in the run's log and goes no further.

Where a fork goes live the run has another seed, and every later draw is mixed with that; the functions of `random`
begin anew unless they were seeded, other generators go on.

Work that is handed to a ThreadPoolExecutor, or to anyio's threads, draws as its submitter's, whichever thread takes it.
So do programs that `subprocess` starts: who they are follows from the task or the work that started them. The functions of
`random` have a generator for each thread and task, until somebody seeds them: then the one generator that the
language says. Not reached: numpy's old global functions are seeded, but shared; code that draws in C draws by
thread, from the preloaded library; what several processes take from one queue. Clocks are that library's alone.

`python -I`, `-E` and `-S` do not load this file. The syntax is what every Python 3 and 2.7 can read.

PYTEST_DONT_REWRITE: an editable hark lists this file among those of a pytest plugin, and pytest would warn that it
was imported before its assertions could be rewritten.
"""

import sys

_PLACE = "/run/hark/shim/"
_SEEDED = 1
_OLDEST = (3, 8)
_NOTES = 64  # see `struct log` of preload/ground.h
_NOTE_BYTES = 256
_AT_ONCE = 33554431  # what the kernel gives at most
_EPOCH = 0x48520000  # see ASKS_EPOCH of preload/random.h
_NEEDED = 64  # bytes of a generator's seed: more than anybody guesses


def _note(what, why):
    """Say in the run's log what does not work."""
    import os

    text = ("python\0%s\0%s" % (what, why)).encode("utf-8", "replace")[: _NOTE_BYTES - 1]
    try:
        log = os.open(_PLACE + "log", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        start = os.fstat(log).st_size - _NOTES * _NOTE_BYTES
        for number in range(_NOTES if start >= 0 else 0):
            found = os.pread(log, _NOTE_BYTES, start + number * _NOTE_BYTES)
            if found.rstrip(b"\0") == text:
                return
            if not found.strip(b"\0"):
                os.pwrite(log, text, start + number * _NOTE_BYTES)
                return
    finally:
        os.close(log)


def _seed():
    """The number of the run's epoch and its seed, which is empty where its randomness is not under control."""
    try:
        with open(_PLACE + "page", "rb", buffering=0) as file:
            page = file.read(4096)
    except (IOError, OSError):
        return 0, b""
    flags = int.from_bytes(page[24:28], sys.byteorder)
    epoch = int.from_bytes(page[28:32], sys.byteorder)
    at = 32 + 32 * epoch
    return epoch, page[at : at + 32] if page[:8] == b"HARKPG1\0" and flags & _SEEDED else b""


def _install(seed):
    """Put everything in place. In one function, so that nothing of it is a name that others could meet."""
    import _thread
    import os
    import posix

    from _blake2 import blake2b
    from _sha3 import shake_256

    plain_urandom = posix.urandom
    plain_getrandom = getattr(posix, "getrandom", None)
    local = _thread._local()

    class Stream(object):
        """The draws of one task or thread."""

        __slots__ = ("children", "draws", "epoch", "generator", "key", "mixed", "stamps")

        def __init__(self, key):
            self.key = key  # of itself and its children
            self.mixed = key  # of its draws
            self.epoch = b"\0\0\0\0"
            self.draws = 0
            self.children = 0
            self.generator = None
            self.stamps = None

        def bytes(self, size):
            number = self.draws
            self.draws = number + 1
            head = number.to_bytes(8, "little")
            now = epoch(4, _EPOCH)
            if now != self.epoch:
                self.turn(now)
            if 0 < size <= 64:
                return blake2b(head, digest_size=size, key=self.mixed, person=b"hark draw").digest()
            return shake_256(self.mixed + head).digest(size)

        def turn(self, now):
            """Draw from the seed of this epoch from now on."""
            fresh = _seed()[1]
            self.epoch, self.generator = now, None
            self.mixed = blake2b(fresh, digest_size=32, key=self.key, person=b"hark epoch").digest()

        def number(self):
            return int.from_bytes(self.bytes(_NEEDED), "little")

        def program(self):
            """Who a program is that this one starts: see HANDED_OVER of preload/lineage.h."""
            return b"%08x.%s" % (posix.getpid(), self.child().key[:16].hex().encode())

        def child(self):
            number = self.children
            self.children = number + 1
            data = number.to_bytes(8, "little")
            return Stream(blake2b(data, digest_size=32, key=self.key, person=b"hark child").digest())

    def read_epoch(_size, _flags):
        """As the preloaded library answers; it is not here, so that each draw looks itself."""
        return _seed()[0].to_bytes(4, sys.byteorder)

    def preloaded():
        try:
            with open("/proc/self/maps", "rb") as file:
                return (_PLACE + "preload.so").encode() in file.read()
        except OSError:
            return False

    def origin():
        """The key of this process: from the preloaded library, which knows how it came to be, or its number."""
        if libraries:
            return plain_urandom(32)
        return blake2b(b"%d" % os.getpid(), digest_size=32, key=seed, person=b"hark process").digest()

    libraries = preloaded()
    epoch = read_epoch
    if libraries and plain_getrandom is not None:
        try:
            plain_getrandom(4, _EPOCH)
            epoch = plain_getrandom
        except OSError:
            pass
    process = [Stream(origin())]
    strays = [process[0].child()]
    local.stream = process[0]
    running = [None, None]  # asyncio's functions, once it is imported

    def current():
        """Who draws."""
        loop_of = running[0]
        if loop_of is not None:
            loop = loop_of()
            if loop is not None:
                task = running[1](loop)
                if task is not None:
                    try:
                        return task._hark_stream
                    except AttributeError:
                        return adopted(task)
        try:
            return local.stream
        except AttributeError:
            # A thread that `threading` did not make, or one of a pool's beside its work.
            stream = local.stream = Stream(plain_urandom(32)) if libraries else strays[0].child()
            return stream

    def adopted(task):
        """A task that was made by a way that we do not see, or that runs before its maker has it."""
        stream = getattr(local, "pending", None)
        local.pending = None
        if stream is None:
            stream = getattr(local, "stream", process[0]).child()
        try:
            task._hark_stream = stream
        except AttributeError:
            return getattr(local, "stream", process[0])
        return stream

    def before_fork():
        local.forked = current().child()

    def after_fork():
        stream = getattr(local, "forked", None)
        process[0] = local.stream = Stream(origin()) if stream is None or libraries else stream
        strays[0] = process[0].child()
        local.pending = local.forked = None
        for function in in_child:
            function()

    in_child = []
    os.register_at_fork(before=before_fork, after_in_child=after_fork)

    class System(object):
        """Functions of `os`, as methods: a method that is a class's attribute is not bound anew, like a builtin."""

        def urandom(self, size):
            if type(size) is not int:
                size = size.__index__() if hasattr(size, "__index__") else plain_urandom(size)
            return current().bytes(size) if size >= 0 else plain_urandom(size)

        def getrandom(self, size, flags=0):
            if type(size) is not int or type(flags) is not int or size < 0 or flags & ~7:
                return plain_getrandom(size, flags)
            return current().bytes(min(size, _AT_ONCE))

        def rand_bytes(self, n):
            return current().bytes(n) if type(n) is int and n >= 0 else plain["ssl"](n)

    system = System()
    plain = {}

    def named_like(function, original):
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(function, name, getattr(original, name, None))
        function.__wrapped__ = original
        return function

    def generator():
        stream = current()
        now = epoch(4, _EPOCH)
        if now != stream.epoch:
            stream.turn(now)
        if stream.generator is None:
            stream.generator = plain["Random"](stream.number())
        return stream.generator

    def patch_random(module):
        base = module.Random
        plain["Random"] = base
        plain_seed = base.seed
        c_random, c_bits = base.random, base.getrandbits

        def seed(self, a=None, version=2):
            plain_seed(self, current().number() if a is None else a, version)

        base.seed = named_like(seed, plain_seed)

        class Contextual(base):
            """The generator behind the module's functions: one for each task and thread, until it is seeded."""

            __qualname__ = base.__qualname__
            __module__ = base.__module__

            def __init__(self, x=None):
                self._hark_shared = False
                self.gauss_next = None

            def seed(self, a=None, version=2):
                if a is None:
                    self._hark_shared = False
                    stream = current()
                    stream.generator = base(stream.number())
                else:
                    self._hark_shared = True
                    base.seed(self, a, version)

            def random(self):
                return c_random(self) if self._hark_shared else generator().random()

            def getrandbits(self, k):
                return c_bits(self, k) if self._hark_shared else generator().getrandbits(k)

            def gauss(self, *args, **named):
                return (
                    base.gauss(self, *args, **named)
                    if self._hark_shared
                    else generator().gauss(*args, **named)
                )

            def __reduce__(self):
                return base, (), self.getstate()

            def getstate(self):
                return base.getstate(self) if self._hark_shared else generator().getstate()

            def setstate(self, state):
                self._hark_shared = True
                base.setstate(self, state)

        Contextual.__name__ = base.__name__
        old, new = module._inst, Contextual(0)
        module._inst = new
        for name, value in list(vars(module).items()):
            if getattr(value, "__self__", None) is old:
                setattr(module, name, getattr(new, name))
        module._urandom = os.urandom
        in_child.append(new.seed)

    def patch_events(module):
        loop = module.BaseEventLoop
        loop.create_task = named_like(keyed(loop.create_task), loop.create_task)
        running[:] = [
            sys.modules["asyncio.events"]._get_running_loop,
            sys.modules["asyncio.tasks"].current_task,
        ]

    def keyed(create):
        def create_task(self, coro, **named):
            stream = current().child()
            before, local.pending = getattr(local, "pending", None), stream
            try:
                task = create(self, coro, **named)
            finally:
                local.pending = before
            try:
                if not hasattr(task, "_hark_stream"):
                    task._hark_stream = stream
            except AttributeError:
                pass  # a task of another kind: it draws as its thread
            return task

        return create_task

    def patch_uvloop(module):
        module.Loop.create_task = keyed(module.Loop.create_task)

    def patch_threading(module):
        thread = module.Thread
        plain_start, plain_inner = thread.start, thread._bootstrap_inner

        def start(self):
            if not getattr(local, "unnamed", False):
                self._hark_stream = current().child()
            plain_start(self)

        def inner(self):
            stream = getattr(self, "_hark_stream", None)
            if stream is not None:
                local.stream = stream
            plain_inner(self)

        thread.start = named_like(start, plain_start)
        thread._bootstrap_inner = named_like(inner, plain_inner)

    def patch_pool(module):
        item = module._WorkItem
        plain_init, plain_run = item.__init__, item.run

        def init(self, *args, **named):
            plain_init(self, *args, **named)
            self._hark_stream = current().child()

        def run(self, *args, **named):
            local.stream = self._hark_stream
            try:
                return plain_run(self, *args, **named)
            finally:
                del local.stream

        def adjust(self):
            # How many threads a pool has depends on how fast they are: none of them counts as a child.
            local.unnamed = True
            try:
                plain_adjust(self)
            finally:
                local.unnamed = False

        pool = module.ThreadPoolExecutor
        plain_adjust = pool._adjust_thread_count
        pool._adjust_thread_count = named_like(adjust, plain_adjust)
        item.__init__, item.run = named_like(init, plain_init), named_like(run, plain_run)

    def patch_anyio(module):
        """Its threads are given work by whoever finds one idle, which depends on how fast they are."""
        worker, backend = module.WorkerThread, module.AsyncIOBackend
        plain_start, plain_run = worker.start, backend.run_sync_in_worker_thread.__func__

        def start(self):
            local.unnamed = True
            try:
                plain_start(self)
            finally:
                local.unnamed = False

        def run_sync_in_worker_thread(cls, func, *args, **named):
            stream = current().child()

            def run(*given):
                local.stream = stream
                try:
                    return func(*given)
                finally:
                    del local.stream

            return plain_run(cls, run, *args, **named)

        worker.start = named_like(start, plain_start)
        backend.run_sync_in_worker_thread = classmethod(named_like(run_sync_in_worker_thread, plain_run))

    def patch_subprocess(module):
        if not libraries:
            return
        import _posixsubprocess as native

        plain_fork = native.fork_exec

        def fork_exec(*args):
            given = list(args)
            env = given[5]
            if env is None:
                env = [b"%s=%s" % pair for pair in os.environb.items()]
            given[5] = list(env) + [b"HARK_LINEAGE=" + current().program()]
            return plain_fork(*given)

        def spawning(plain_spawn):
            def spawn(path, argv, env, **named):
                named_env = dict(os.environ if env is None else env)
                named_env["HARK_LINEAGE"] = current().program()
                return plain_spawn(path, argv, named_env, **named)

            return named_like(spawn, plain_spawn)

        native.fork_exec = named_like(fork_exec, plain_fork)
        if hasattr(module, "_fork_exec"):
            module._fork_exec = native.fork_exec
        for name in ("posix_spawn", "posix_spawnp"):  # what `subprocess` does from 3.13 on
            if hasattr(os, name):
                setattr(os, name, spawning(getattr(os, name)))

    def patch_uuid(module):
        lock = _thread.allocate_lock()

        def apart(function, *names):
            """Each task and thread has time stamps of its own: one that is shared depends on who came first."""

            def make(*args, **named):
                stream = current()
                with lock:
                    if stream.stamps is None:
                        # Clocks that stand still would make the first stamps of all the same.
                        first = sys.modules["time"].time_ns() // 100 + 0x01B21DD213814000
                        first += int.from_bytes(stream.bytes(3), "little")
                        stream.stamps = {"_last_timestamp": first, "_last_timestamp_v6": first}
                    before = {name: getattr(module, name) for name in names}
                    for name in names:
                        setattr(module, name, stream.stamps.get(name))
                    try:
                        return function(*args, **named)
                    finally:
                        for name in names:
                            stream.stamps[name] = getattr(module, name)
                            setattr(module, name, before[name])

            return named_like(make, function)

        made = {
            "uuid1": ("_last_timestamp",),
            "uuid6": ("_last_timestamp_v6",),
            "uuid7": ("_last_timestamp_v7", "_last_counter_v7"),
        }
        for name, globals_of in made.items():
            if all(hasattr(module, one) for one in (name,) + globals_of):
                setattr(module, name, apart(getattr(module, name), *globals_of))
        getattr(module, "_load_system_functions", bool)()  # 3.8 looks for it late
        if getattr(module, "_generate_time_safe", None) is not None:
            module.getnode()  # by libuuid, which would otherwise make the time stamps too
            module._generate_time_safe = None

    def patch_ssl(module):
        plain["ssl"] = module.RAND_bytes
        module.RAND_bytes = system.rand_bytes

    def patch_tempfile(module):
        module._RandomNameSequence.rng = property(
            lambda self: generator() if "Random" in plain else module._Random()
        )

    patches = {
        "random": patch_random,
        "asyncio.base_events": patch_events,
        "uvloop": patch_uvloop,
        "threading": patch_threading,
        "concurrent.futures.thread": patch_pool,
        "anyio._backends._asyncio": patch_anyio,
        "subprocess": patch_subprocess,
        "uuid": patch_uuid,
        "ssl": patch_ssl,
        "tempfile": patch_tempfile,
    }

    def patch(module, name):
        try:
            patches[name](module)
        except Exception as error:
            _note(name, "%s: %s" % (type(error).__name__, error))

    class Loader(object):
        """The module's own, and then the patch."""

        def __init__(self, loader):
            self.loader = loader

        def create_module(self, spec):
            return self.loader.create_module(spec)

        def exec_module(self, module):
            spec = module.__spec__
            spec.loader = module.__loader__ = self.loader
            self.loader.exec_module(module)
            patch(module, spec.name)

    class Finder(object):
        """Asks the others, for the modules that are to be changed."""

        def find_spec(self, name, path=None, target=None):
            if name not in patches:
                return None
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec = None if find is None else find(name, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = Loader(spec.loader)
                    return spec
            return None

    os.urandom = posix.urandom = system.urandom
    if plain_getrandom is not None:
        os.getrandom = posix.getrandom = system.getrandom
    for name in patches:
        module = sys.modules.get(name)
        if module is not None:
            patch(module, name)
    sys.meta_path.insert(0, Finder())


def _begin():
    """Install, or say why not."""
    if sys.version_info < _OLDEST:
        if sys.version_info >= (3,):
            _note("randomness", "Python %d.%d is older than this shim knows" % sys.version_info[:2])
        return
    seed = _seed()[1]
    if not seed:
        return
    try:
        _install(seed)
    except Exception as error:
        _note("randomness", "%s: %s" % (type(error).__name__, error))


def _go_on():
    """Run the sitecustomize that would have been loaded without this one, as if it were the only one."""
    here = __file__.rpartition("/")[0]
    sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != here]
    ours = sys.modules.pop(__name__, None)
    try:
        __import__(__name__)
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise
        if ours is not None:
            sys.modules[__name__] = ours


if sys.version_info >= (3,):
    _begin()
_go_on()

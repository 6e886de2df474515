"""The `hark` program: picks the command, imports only that one, and turns what escapes it into an exit code.

What always holds: a `HarkError` becomes one sentence and its exit code; a file that cannot be opened
becomes a sentence; a reader that went away (`| head`) ends hark in silence; Ctrl-C is 130; anything else
is a bug, said in one line with exit code 70, and a traceback only with HARK_DEBUG=1. Whatever happens to
standard error changes no exit code. No command is imported that was not asked for.
"""

import atexit
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Protocol, cast

from hark.cli import streams
from hark.cli.spec import Args, Spec, parse, unknown
from hark.errors import HarkError, StoppedError, UsageError

COMMANDS: Final = (
    "run",
    "replay",
    "fork",
    "compare",
    "bisect",
    "diff",
    "tree",
    "trust",
    "doctor",
    "verify",
    "anchor",
    "inspect",
    "prove",
    "witness",
    "redact",
    "report",
    "export",
    "ls",
    "gc",
    "keygen",
    "init",
    "policy",
    "synth",
    "version",
)
"""Every command is a module here: `SPEC` and `run(args) -> exit code`, with costly imports inside `run`."""

MAX_SENTENCE: Final = 8_000  # characters of an error; what it quotes may be as long as a file
EXIT_INTERNAL: Final = 70  # EX_SOFTWARE of sysexits.h
EXIT_OUTPUT: Final = 74  # EX_IOERR of sysexits.h
GC_THRESHOLD: Final = 20_000  # new objects between two collections; importing makes some ten thousand
FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""What a print to a full or broken disk raises, without a file name; commands name their own files."""
NOWHERE: Final = "the current directory has been removed; change to one that is there"
EXIT_INTERRUPTED: Final = 130  # what a shell reports for SIGINT
EXIT_PIPE: Final = 141  # what a shell reports for SIGPIPE
ALIASES: Final = {
    "--version": "version",
    "-version": "version",
    "-V": "version",
    "-h": "help",
    "-help": "help",
    "--help": "help",
}


class Command(Protocol):
    """What a command's module offers."""

    SPEC: Spec
    run: Callable[[Args], int]


def entry(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Never raises.

    Without `argv` the process is ours and ends with this call: then the standard streams are put right, the
    garbage collector is kept from slowing start-up, and nothing is taken apart that the kernel gives back.
    """
    if argv is not None:
        return _outcome(argv)
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    streams.reopen_missing()
    streams.forgive_errors()
    gc.set_threshold(GC_THRESHOLD)
    code = _outcome(sys.argv[1:])
    if not _is_waited_for():
        _leave(code)
    gc.freeze()  # the interpreter's last collection then has nothing to look at
    return code


def _is_waited_for() -> bool:
    """Whether a thread is left that the interpreter would not end without."""
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    return any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread())


def _leave(code: int) -> NoReturn:
    """End the process. The interpreter would first free each module and object by itself, for 20 ms."""
    atexit._run_exitfuncs()  # noqa: SLF001  (no other way to them than the one that takes 20 ms)
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105  (contextlib would have to be imported)
            stream.flush()
        except (OSError, ValueError):  # `_outcome` has flushed, and said what was wrong
            pass
    os._exit(code)


def _outcome(words: Sequence[str]) -> int:
    """The exit code of one command line, whatever happens in it."""
    streams.escape()
    try:
        code = dispatch(words)
        sys.stdout.flush()
    except BrokenPipeError:
        streams.abandon_output()
        return EXIT_PIPE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except StoppedError as error:
        return _fail(str(error), error.status)
    except HarkError as error:
        _trace_if_asked(error)
        return _fail(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 (the last edge: what arrives here is a bug, and is called one)
        if isinstance(error, OSError) and error.filename is None and error.errno in FULL:
            streams.abandon_output()
            return _fail(f"cannot write the output: {os.strerror(error.errno or 0).lower()}", EXIT_OUTPUT)
        return _internal(error)
    return code


def dispatch(words: Sequence[str]) -> int:
    """Find the command, read its arguments and run it, or print the help that was asked for."""
    name = ALIASES.get(words[0], words[0]) if words else "help"
    if name == "help":
        return _help(words[1:])
    command = load(name)
    try:
        args = parse(command.SPEC, words[1:])
        return _help([name]) if args.asks_help else command.run(args)
    except UsageError as error:
        return _fail(str(error), command.SPEC.refused)
    except OSError as error:
        if _is_nowhere(error):
            return _fail(NOWHERE, command.SPEC.refused)
        if error.filename is None:  # a broken pipe, or one that no user's file name explains
            raise
        return _fail(_os_sentence(error), command.SPEC.refused)


def load(name: str) -> Command:
    """The command's module, imported now. Only names in `COMMANDS` ever reach the import."""
    if name not in COMMANDS:
        what = f"hark has no option {name}" if name.startswith("-") else f"hark has no command {name!r}"
        raise UsageError(unknown(what, name, (*COMMANDS, "help")) + " (`hark help` lists the commands)")
    from importlib import import_module

    return cast("Command", import_module(f"hark.cli.{name}"))


def _help(words: Sequence[str]) -> int:
    """Print the overview, or one command's help."""
    from hark.cli import help as texts

    if words and ALIASES.get(words[0], words[0]) != "help":
        print(texts.command(load(words[0]).SPEC), end="")
    else:
        print(texts.overview(load(name).SPEC for name in COMMANDS), end="")
    return 0


def _fail(sentence: str, code: int) -> int:
    """Say what went wrong behind what was already printed. What arrives may quote hostile bytes."""
    from hark.visible import printable

    if len(sentence) > MAX_SENTENCE:
        sentence = f"{sentence[: MAX_SENTENCE // 2]} ... {sentence[-MAX_SENTENCE // 2 :]}"
    for stream, text in ((sys.stdout, ""), (sys.stderr, f"hark: {printable(sentence)}\n")):
        try:
            stream.write(text)
            stream.flush()
        except OSError:  # nobody reads it any more; the exit code still says what happened
            if stream is sys.stdout:
                streams.abandon_output()
    return code


def _is_nowhere(error: OSError) -> bool:
    """Tell whether what failed is relative to a current directory that was removed."""
    if not isinstance(error, FileNotFoundError | PermissionError):
        return False
    if error.filename is not None and os.path.isabs(os.fsdecode(error.filename)):
        return False
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _os_sentence(error: OSError) -> str:
    """`cannot use run.hark: no such file or directory`."""
    if isinstance(error, FileExistsError):
        return f"{os.fsdecode(error.filename)} exists, and hark overwrites nothing; name another file"
    why = (error.strerror or type(error).__name__).lower()
    return f"cannot use {os.fsdecode(cast('str | bytes', error.filename))}: {why}"


def _trace_if_asked(error: BaseException) -> None:
    if os.environ.get("HARK_DEBUG") == "1":
        import traceback

        from hark.visible import printable

        for line in "".join(
            traceback.format_exception(error)
        ).splitlines():  # messages may quote hostile bytes
            print(printable(line), file=sys.stderr)


def _internal(error: BaseException) -> int:
    """A bug: one line for everybody, the traceback for who asks."""
    _trace_if_asked(error)
    text = f"internal error: {type(error).__name__}: {error}; please report it with HARK_DEBUG=1 output"
    return _fail(text, EXIT_INTERNAL)


if __name__ == "__main__":
    sys.exit(entry())

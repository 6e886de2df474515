"""Package managers and git: each brings `tinything` or a repository from a registry of the test's."""

from typing import Final

from tests.clients.kit import Client, Kit

INDEX: Final = "https://index.example/simple/"
REGISTRY: Final = "https://npm.example/"
PIP: Final = ("install", "-q", "--target", "into", "--index-url", INDEX, "tinything")
INSTALL: Final = """
import subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr)
sys.path.insert(0, "into")
import tinything
print("VALUE", tinything.VALUE)
"""
CARGO: Final = {
    "Cargo.toml": '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
    'tinything = { version = "1", registry = "tiny" }\n',
    "src/main.rs": 'fn main() { println!("VALUE {}", tinything::VALUE); }\n',
    ".cargo/config.toml": '[registries.tiny]\nindex = "sparse+https://crates.example/crates/"\n',
}
RUN_CARGO: Final = 'PATH="$(dirname "$0"):$PATH" "$0" run -q'
GIT: Final = (
    "export LD_LIBRARY_PATH=$0 GIT_CURL_VERBOSE=1; git clone -q https://git.example/repo.git 2>log && "
    'ls repo/data.bin && grep -q "TLS handshake, Finished" log && echo "spoken by OpenSSL" || cat log >&2'
)
"""Only a libcurl with OpenSSL tells of the handshake's messages one by one."""
GO: Final = {
    "go.mod": "module user\n\ngo 1.21\n",
    "main.go": 'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/tinything"\n)\n\n'
    'func main() { fmt.Println("VALUE", tinything.Value) }\n',
}


def _cargo(kit: Kit) -> str:
    """The copy that everybody can execute, where one was made."""
    copy = kit.folder / "rust" / "bin" / "cargo"
    return str(copy) if copy.exists() else kit.system("cargo")


def _openssl(kit: Kit) -> str:
    return str(kit.folder / "openssl-git")


def _npm_like(name: str, install: str) -> Client:
    """`install` is a shell line with the program as `$0`."""
    system = name == "npm"
    program = (lambda kit: kit.system("npm")) if system else (lambda kit: kit.npm(name))
    proof = f"{install} >&2 && node -e \"console.log('VALUE', require('tinything'))\""
    return Client(
        name=name,
        program=program,
        version=lambda kit: [program(kit), "--version"],
        task=lambda kit: ["sh", "-c", proof, program(kit)],
        says="VALUE 7",
        hosts=("npm.example",),
        files={"package.json": '{"name": "user", "version": "1.0.0", "private": true}'},
    )


PACKAGES: Final = (
    Client(
        name="pip",
        program=lambda kit: kit.package("pip/__main__.py"),
        version=lambda kit: [kit.python, "-m", "pip", "--version"],
        task=lambda kit: [kit.python, "task.py", kit.python, "-m", "pip", *PIP, "--no-cache-dir"],
        files={"task.py": INSTALL},
        says="VALUE 7",
        hosts=("index.example",),
    ),
    Client(
        name="uv",
        program=lambda kit: kit.package("bin/uv"),
        version=lambda kit: [kit.package("bin/uv"), "--version"],
        task=lambda kit: [kit.python, "task.py", kit.package("bin/uv"), "pip", *PIP, "--python", kit.python],
        files={"task.py": INSTALL},
        says="VALUE 7",
        trust="SSL_CERT_FILE",
        hosts=("index.example",),
    ),
    _npm_like("npm", f'"$0" install --no-audit --no-fund --registry {REGISTRY} tinything'),
    _npm_like("pnpm", f'"$0" add --registry {REGISTRY} tinything'),
    _npm_like("yarn", f'"$0" add --non-interactive --registry {REGISTRY} tinything'),
    Client(
        name="cargo",
        program=_cargo,
        version=lambda kit: [_cargo(kit), "--version"],
        task=lambda kit: ["sh", "-c", RUN_CARGO, _cargo(kit)],
        says="VALUE 7",
        trust="CARGO_HTTP_CAINFO",
        hosts=("crates.example",),
        files=CARGO,
    ),
    Client(
        name="go get",
        program=lambda kit: kit.package("go/bin/go"),
        version=lambda kit: [kit.package("go/bin/go"), "version"],
        task=lambda kit: [
            "sh",
            "-c",
            '"$0" get example.org/tinything >&2 && "$0" list -m all',
            kit.package("go/bin/go"),
        ],
        says="example.org/tinything v1.0.0",
        hosts=("go.example",),
        files=GO,
        env={"GOPROXY": "https://go.example/go", "GONOSUMDB": "*", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
    ),
    Client(
        name="git over https",
        program=lambda kit: kit.system("git"),
        version=lambda kit: [kit.system("git"), "--version"],
        task=lambda kit: ["sh", "-c", "git clone -q https://git.example/repo.git && ls repo"],
        says="data.bin",
        hosts=("git.example",),
    ),
    Client(
        name="git over https, by OpenSSL",
        program=_openssl,
        version=lambda kit: [kit.system("git"), "--version"],
        task=lambda kit: ["sh", "-c", GIT, _openssl(kit)],
        says="spoken by OpenSSL",
        hosts=("git.example",),
    ),
)

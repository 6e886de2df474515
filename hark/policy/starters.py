"""Policies to start from, one for each agent that people commonly run: what it needs, and no more.

The hosts are those that the agent's own program asks for when it is used with an API key. What only signing
in, telemetry or updates need is named in comments, to be allowed by choice.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Starter(NamedTuple):
    """A policy's text, and the command that is run under it."""

    text: str
    command: str
    variable: str
    """The caller's variable that must hold the credential."""


_HEAD: Final = """\
# What {who} may reach, see and write. Everything else is denied and recorded.
#   hark policy check policy.toml     says what this means
#   hark run -policy policy.toml -- {command}

"""
_TAIL: Final = """
# Further hosts: the end of a run prints what was denied, as lines to paste below. With conditions:
#
# [[allow]]
# host = "api.github.com"
# methods = ["GET"]
# paths = ["/repos/OWNER/REPOSITORY/**"]

# Further paths, beside the project directory:
#
# read_paths = ["~/data"]          (put it above the first line that begins with [)

[limits]
time = "8h"
"""
_SETTINGS: Final = """
# The agent's home is empty in each run, so it asks what it asks at a first start. To keep your answers, make
# it a directory of its own, switch on what is above, and put above the first line that begins with [:
#
# write_paths = ["{directory}"]
#
# Never {own}: what an agent writes there, your own sessions would run outside.
"""
_CLAUDE: Final = """\
allow_hosts = [
    "api.anthropic.com",
    # "mcp-proxy.anthropic.com",   # connectors of a claude.ai account
    # "claude.ai",                 # signing in, in place of an API key: see platform.claude.com below, too
    # "downloads.claude.ai",       # updates of the program itself
]

# The agent holds a placeholder; the value comes from your own ANTHROPIC_API_KEY.
[secrets.ANTHROPIC_API_KEY]
hosts = ["api.anthropic.com"]

# Asked by the first start in an empty home, with an API key too: "Unable to connect" without it. For signing
# in, take away methods and paths.
[[allow]]
host = "platform.claude.com"
methods = ["GET"]
paths = ["/v1/oauth/hello"]

[env.set]
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"   # no telemetry, error reports or update checks
# CLAUDE_CONFIG_DIR = "/home/YOU/agents/claude"   # keeps settings, theme, trust and sessions
""" + _SETTINGS.format(directory="~/agents/claude", own="~/.claude and ~/.claude.json")
_CODEX: Final = """\
allow_hosts = [
    "api.openai.com",
    # "chatgpt.com",       # these two: signing in with ChatGPT, in place of an API key
    # "auth.openai.com",
]

# The agent holds a placeholder; the value comes from your own OPENAI_API_KEY.
[secrets.CODEX_API_KEY]
env = "OPENAI_API_KEY"
hosts = ["api.openai.com"]

# Codex puts its commands into a sandbox of its own. Where it says that it cannot, let it, which widens what
# it may ask of the kernel, or switch that sandbox off in Codex: hark's boundary holds either way.
#
# [sandbox]
# nested = true

# [env.set]
# CODEX_HOME = "/home/YOU/agents/codex"   # keeps settings, trust and sessions
""" + _SETTINGS.format(directory="~/agents/codex", own="~/.codex")
_GEMINI: Final = """\
allow_hosts = [
    "generativelanguage.googleapis.com",
    # "oauth2.googleapis.com",            # these two: signing in with Google, in place of an API key
    # "cloudcode-pa.googleapis.com",
    # "play.googleapis.com",              # usage statistics
]

# The agent holds a placeholder; the value comes from your own GEMINI_API_KEY.
[secrets.GEMINI_API_KEY]
hosts = ["generativelanguage.googleapis.com"]
in = ["header", "query"]

[env.set]
GEMINI_CLI_TRUST_WORKSPACE = "true"   # or --skip-trust; else it ends with 55 ("not in a trusted directory")
# GEMINI_CLI_HOME = "/home/YOU/agents/gemini"   # keeps settings and sessions
""" + _SETTINGS.format(directory="~/agents/gemini", own="~/.gemini")
_AIDER: Final = """\
allow_hosts = [
    "api.anthropic.com",
    # "api.openai.com",
    # "openrouter.ai",
]

# The agent holds a placeholder; the value comes from your own ANTHROPIC_API_KEY.
[secrets.ANTHROPIC_API_KEY]
hosts = ["api.anthropic.com"]

# The list of models and their prices, which it reads when it starts.
[[allow]]
host = "raw.githubusercontent.com"
methods = ["GET"]
paths = ["/BerriAI/litellm/**"]

[env.set]
AIDER_ANALYTICS = "false"
AIDER_CHECK_UPDATE = "false"
"""
_OWN: Final = """\
allow_hosts = [
    "api.anthropic.com",
    # "api.openai.com",
    # "generativelanguage.googleapis.com",
]

# The agent holds a placeholder; the value comes from your own ANTHROPIC_API_KEY.
[secrets.ANTHROPIC_API_KEY]
hosts = ["api.anthropic.com"]

# Install what the program needs before the run. To let the agent install, add the hosts of your package
# index: they are printed at the end of a run that was denied them.
"""


def _starter(who: str, body: str, command: str, variable: str = "ANTHROPIC_API_KEY") -> Starter:
    return Starter(_HEAD.format(who=who, command=command) + body + _TAIL, command, variable)


STARTERS: Final[Mapping[str, Starter]] = {
    "claude-code": _starter("Claude Code", _CLAUDE, "claude"),
    "codex": _starter("Codex", _CODEX, "codex exec 'TASK'", "OPENAI_API_KEY"),
    "gemini": _starter("the Gemini CLI", _GEMINI, "gemini", "GEMINI_API_KEY"),
    "aider": _starter("aider", _AIDER, "aider --model sonnet"),
    "python": _starter("an agent in Python", _OWN, "python3 agent.py"),
    "node": _starter("an agent in Node", _OWN, "node agent.js"),
}

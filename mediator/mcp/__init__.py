"""The Model Context Protocol, judged and recorded: in HTTP exchanges, and over stdio by doors of its own.

`jsonrpc`, `judge`, `sse` and `talk` are pure: bytes to values. `watch` follows HTTP exchanges; `doors` and
`server` do the IO of `[mcp.NAME]`; `guard` and `stub` are programs of their own.
"""

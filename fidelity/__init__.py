"""How well runs are replayed: shapes of agents, each recorded once and replayed many times.

`shapes/` holds a folder for each: the agent's program, its policy, the servers it talks to, and what must
have been seen for the recording itself to count. `heavy/` is for agents that take long or much to fetch.
`python -m fidelity` records, stops the servers, replays, and prints the table of docs/fidelity.md.
"""

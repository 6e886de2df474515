"""What stands in place of servers in a replay: recorded answers, in their order. Nothing here dials."""

"""Which span of a recorded message led to an outcome: many forks of one run. No argv, nothing is printed."""

"""A recorded run started again and led another way from one point on. No argv, nothing is printed."""

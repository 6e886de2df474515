"""What makes an agent's clock, randomness and programs the same again, and the record of that."""

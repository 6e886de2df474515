"""What tests share: an ordinary user, and what the host must be able to do."""

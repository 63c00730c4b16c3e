"""What is wrong with this client and this account, and what to do: checks on facts, and the probes that find the facts."""

"""What an operation costs, the ceilings of a mount target, how much is left: arithmetic on frozen records, no IO."""

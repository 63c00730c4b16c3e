"""What an operation costs, what a mount target can bear, how much is left: arithmetic on frozen records, no IO."""

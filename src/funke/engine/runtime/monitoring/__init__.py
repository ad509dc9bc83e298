"""What a slot reports about itself: rates, samples of stacks, log lines."""

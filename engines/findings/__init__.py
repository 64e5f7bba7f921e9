"""What is a finding: failures and their signatures, message and differential oracles."""

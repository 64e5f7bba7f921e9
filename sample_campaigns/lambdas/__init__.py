"""Seven functions for AWS Lambda, each called when an object was put into a bucket."""

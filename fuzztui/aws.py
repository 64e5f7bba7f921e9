"""A mock of AWS for harnesses: S3 and DynamoDB, reset and filled for each trial (docs/aws.md)."""

from fuzztui.engines.fixtures import aws
from fuzztui.engines.fixtures.aws import *  # noqa: F403

__all__ = aws.__all__
